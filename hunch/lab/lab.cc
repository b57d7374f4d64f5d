// Running the variants: checks first, then one variant after the other, each recorded and judged.
//
// In:  a device and what to run on it. Out: a Recording a variant.
// Holds: all variants get the same tensors; only the active steps are in a trace; a step ends when the device
// is idle, and "attn_fwd" ends before that wait, so its host time is that of launching. The judged run is a
// separate one, unrecorded, in which every allocation is filled with NaN first. A CUDA device's tracer runs
// from a variant's first call to its last active step, so what starting it costs is in no active step.
#include "hunch/lab/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "hunch/attention/dispatch.h"
#include "hunch/attention/providers.h"
#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/lab/judge.h"
#include "hunch/record/device_tracer.h"
#include "hunch/record/recorder.h"
#if HUNCH_HAS_CUDA
#include "hunch/tensor/cuda_device.h"
#endif

namespace hunch::lab {
namespace {

using attention::Backend;
using base::ErrorCode;
using tensor::Device;

base::Result<std::vector<const Backend*>> find_variants(const std::vector<std::string>& names) {
  std::vector<const Backend*> found;
  for (const std::string& name : names) {
    const Backend* backend = attention::find_variant(name);
    if (backend == nullptr) {
      std::vector<std::string> all;
      for (const attention::Provider& provider : attention::providers())
        for (const Backend* known : provider.backends()) all.push_back(attention::variant_name(*known));
      const std::vector<std::string_view> known(all.begin(), all.end());
      return base::fail(ErrorCode::usage, fmt::format("no variant is named '{}'", name),
                        base::did_you_mean(name, known));
    }
    found.push_back(backend);
  }
  return found;
}

// Opens the libraries of the variants' providers. Out: what each is, by its name; hunch itself is not told.
using Providers = std::map<std::string, std::string, std::less<>>;
base::Result<Providers> open_providers(const std::vector<const Backend*>& variants) {
  Providers opened;
  for (const Backend* variant : variants) {
    if (variant->provider() == attention::kNative || opened.count(variant->provider()) != 0) continue;
    const attention::Provider* const provider = attention::find_provider(variant->provider());
    HUNCH_CHECK(provider != nullptr, "a backend of a provider that is in the table");
    HUNCH_ASSIGN(opened[std::string(provider->name)], provider->open());
  }
  return opened;
}

// Bytes on the device for the inputs and one result, in double: the product may be huge.
double bytes_of(const attention::Problem& problem) {
  const auto number = [](int64_t size) { return static_cast<double>(size); };
  const double element = number(static_cast<int64_t>(tensor::size_of(problem.dtype)));
  const double query =
      number(problem.batch) * number(problem.heads) * number(problem.length) * number(problem.head_dim);
  const double key =
      number(problem.batch) * number(problem.kv_heads) * number(problem.kv_length) * number(problem.head_dim);
  const double pairs = number(problem.length) * number(problem.kv_length);
  double mask = 0;
  if (problem.mask == attention::MaskKind::boolean) mask = pairs;
  if (problem.mask == attention::MaskKind::floating) mask = pairs * element;
  return (2 * query + 2 * key) * element + mask;
}

tl::unexpected<base::Error> too_large(const Device& device, const attention::Problem& problem) {
  constexpr double kMost = 9e18;  // what int64 holds
  const auto needed = static_cast<int64_t>(std::min(bytes_of(problem), kMost));
  return base::fail(ErrorCode::unsupported,
                    fmt::format("the inputs and the result of {} take {}, and {} has {} free", problem.text(),
                                base::format_bytes(needed), device.info().name,
                                base::format_bytes(device.available_bytes())),
                    "a smaller batch or a shorter length");
}

trace::DeviceProperties properties_of(Device& device) {
  const tensor::DeviceInfo& info = device.info();
  trace::DeviceProperties properties;
  properties.id = info.index;
  properties.name = info.name;
  properties.multiprocessors = info.multiprocessors;
  properties.memory_bytes = info.memory_bytes;
  properties.compute_major = info.compute_major;
  properties.compute_minor = info.compute_minor;
  properties.is_cpu = info.kind == tensor::DeviceKind::cpu;
#if HUNCH_HAS_CUDA
  if (const tensor::CudaDevice* cuda = device.as_cuda()) {
    const tensor::CudaProperties& has = cuda->properties();
    properties.warp_size = has.warp_size;
    properties.max_threads_per_block = has.max_threads_per_block;
    properties.max_threads_per_multiprocessor = has.max_threads_per_multiprocessor;
    properties.registers_per_multiprocessor = has.registers_per_multiprocessor;
    properties.shared_bytes_per_block = has.shared_bytes_per_block;
    properties.shared_bytes_per_block_optin = has.shared_bytes_per_block_optin;
    properties.shared_bytes_per_multiprocessor = has.shared_bytes_per_multiprocessor;
  }
#endif
  return properties;
}

// Every allocation of its lifetime starts as NaN.
class ScopedPoison {
 public:
  explicit ScopedPoison(Device& device) : device_(device) { device_.set_poison(true); }
  ~ScopedPoison() { device_.set_poison(false); }
  ScopedPoison(const ScopedPoison&) = delete;
  ScopedPoison& operator=(const ScopedPoison&) = delete;

 private:
  Device& device_;
};

// A device's tracer while variants run on it, or the reason why there is none. Free on the CPU.
class Tracing {
 public:
  Tracing(Device& device, bool wanted) {
    if (device.as_cuda() == nullptr) return;
    if (!wanted) {
      note_ = fmt::format("CUPTI was not asked for: {}", record::kWithoutTracer);
      return;
    }
    auto opened = record::open_device_tracer();
    if (opened)
      tracer_ = std::move(*opened);
    else
      note_ = fmt::format("{}; {}", base::describe(opened.error()), record::kWithoutTracer);
  }
  record::DeviceTracer* tracer() const { return tracer_.get(); }
  const std::string& note() const { return note_; }  // empty where nothing is lacking

 private:
  std::unique_ptr<record::DeviceTracer> tracer_;
  std::string note_;
};

// The recorders of one variant. They share the tracer, one after the other, which stops when they go.
struct Recorders {
  explicit Recorders(record::DeviceTracer* tracer)
      : of_device(tracer), first(tracer), warmup(tracer), active(tracer) {}
  ~Recorders() { stop(); }
  Recorders(const Recorders&) = delete;
  Recorders& operator=(const Recorders&) = delete;

  // What no one asked for does not pile up.
  void drop_traced() const {
    if (of_device != nullptr) of_device->take();
  }
  void stop() const {
    if (of_device != nullptr) of_device->stop();
  }

  record::DeviceTracer* const of_device;
  record::Recorder first, warmup, active;
};

class Run {
 public:
  Run(Device& device, const Options& options, Providers providers, const Progress& progress)
      : device_(device),
        options_(options),
        providers_(std::move(providers)),
        progress_(progress),
        tracing_(device, options.device_tracer),
        total_(static_cast<int>(options.variants.size()) * (options.schedule.total() + 1)) {}

  base::Result<std::vector<Recording>> all(const std::vector<const Backend*>& variants) {
    attention::Call call;
    std::optional<Judge> judge;
    try {
      tell("making the inputs");
      call = attention::make_call(device_, options_.problem, options_.seed);
      const bool any = std::any_of(variants.begin(), variants.end(),
                                   [&](const Backend* variant) { return refusals(*variant, call).empty(); });
      if (any) {
        tell("computing the reference");
        judge.emplace(call, options_.seed);
      }
    } catch (const std::bad_alloc&) {
      return too_large(device_, options_.problem);
    }
    std::vector<Recording> recordings;
    for (const Backend* variant : variants) {
      recordings.push_back(one(*variant, call, judge));
      done_ = static_cast<int>(recordings.size()) * (options_.schedule.total() + 1);
    }
    tell("done");
    return recordings;
  }

 private:
  void tell(const std::string& what) const {
    if (progress_) progress_(what, done_, total_);
  }

  std::vector<std::string> refusals(const Backend& variant, const attention::Call& call) const {
    if (variant.provider() != attention::kNative && device_.as_cuda() != nullptr &&
        tracing_.tracer() == nullptr)
      return {
          fmt::format("what {} launches cannot be recorded here: {}", variant.provider(), tracing_.note())};
    return variant.refusals(call);
  }

  // `judge` may be missing only where every variant refuses.
  Recording one(const Backend& variant, const attention::Call& call, const std::optional<Judge>& judge) {
    Recording recording = named(variant);
    recording.refusals = refusals(variant, call);
    if (!recording.refusals.empty()) return recording;
    // They outlive what the device still does when an allocation fails.
    Recorders recorders(tracing_.tracer());
    try {
      const base::Status ran = record_and_judge(variant, call, *judge, recorders, recording);
      if (ran) return recording;
      device_.synchronize();
      recording = named(variant);
      recording.refusals = {ran.error().message};
    } catch (const std::bad_alloc&) {
      device_.synchronize();
      recording = named(variant);
      recording.refusals = {fmt::format("it ran out of memory: {} has {} free", device_.info().name,
                                        base::format_bytes(device_.available_bytes()))};
    }
    return recording;
  }

  static Recording named(const Backend& variant) {
    Recording recording;
    recording.variant = attention::variant_name(variant);
    recording.backend = variant.name();
    recording.provider = variant.provider();
    return recording;
  }

  // Error: what the variant's own library says where it fails.
  base::Status record_and_judge(const Backend& variant, const attention::Call& call, const Judge& judge,
                                Recorders& recorders, Recording& recording) {
    const attention::PinBackends pin({std::string(variant.name())});
    {
      start(recorders.first, recording);
      const attention::Prepared prepared = prepare(variant, call, recorders.first);
      HUNCH_RETURN_IF_ERROR(run_steps(variant, prepared, recorders, recording));
    }
    recorders.stop();
    const ScopedPoison poison(device_);
    tell(fmt::format("{}: comparing with the reference", recording.variant));
    HUNCH_ASSIGN(const attention::Output output, attention::run_backend(variant, variant.prepare(call)));
    const Judgement judgement = judge.judge(output.out, variant.by_hand());
    recording.max_abs_error = judgement.max_abs_error;
    recording.error_ok = judgement.ok;
    recording.error_bound = judge.error_bound();
    ++done_;
    return {};
  }

  // A tracer that opened and does not start is a device that broke meanwhile; what there is, is recorded.
  void start(record::Recorder& recorder, Recording& recording) const {
    std::string note = tracing_.note();
    if (const base::Status started = recorder.start(); !started) note = base::describe(started.error());
    if (note.empty()) return;
    recorder.warn(note);
    if (recording.notes.empty() || recording.notes.back() != note) recording.notes.push_back(std::move(note));
  }

  attention::Prepared prepare(const Backend& variant, const attention::Call& call, record::Recorder& first) {
    const base::ScopedProbe probe(&first);
    const base::Span preparing(base::SpanKind::annotation, kPrepareRange);
    attention::Prepared prepared = variant.prepare(call);
    device_.synchronize();
    return prepared;
  }

  // The device is idle before the first step, and after each.
  base::Status run_steps(const Backend& variant, const attention::Prepared& prepared, Recorders& recorders,
                         Recording& recording) {
    const record::Schedule& schedule = options_.schedule;
    const int first_active = schedule.wait + schedule.warmup;
    for (int step = 0; step < schedule.total(); ++step) {
      tell(fmt::format("{}: step {} of {}", recording.variant, step + 1, schedule.total()));
      const record::Phase phase = record::phase_of(schedule, step);
      if (step == 0 && phase != record::Phase::active) {
        const base::ScopedProbe probe(&recorders.first);
        HUNCH_RETURN_IF_ERROR(run_step(variant, prepared, step));
      }
      if (step == 0) {
        describe(variant, recorders.first);
        recording.first_call = recorders.first.finish();
      }
      if (step == first_active) start(recorders.active, recording);
      if (phase == record::Phase::active) {
        const base::ScopedProbe probe(&recorders.active);
        HUNCH_RETURN_IF_ERROR(run_step(variant, prepared, step));
      } else if (step > 0) {
        const base::ScopedProbe probe(phase == record::Phase::warmup ? &recorders.warmup : nullptr);
        HUNCH_RETURN_IF_ERROR(run_step(variant, prepared, step));
        if (step % kDropAfter == 0) recorders.drop_traced();
      }
      ++done_;
    }
    describe(variant, recorders.active);
    recording.trace = recorders.active.finish();
    return {};
  }

  base::Status run_step(const Backend& variant, const attention::Prepared& prepared, int step) {
    const base::Span whole(base::SpanKind::step, fmt::format("ProfilerStep#{}", step));
    attention::Output output;
    {
      const base::Span forward(base::SpanKind::annotation, kForwardRange);
      HUNCH_ASSIGN(output, attention::run_backend(variant, prepared));
    }
    device_.synchronize();
    return {};
  }

  void describe(const Backend& variant, record::Recorder& recorder) const {
    const tensor::DeviceInfo& info = device_.info();
    const record::Schedule& schedule = options_.schedule;
    recorder.add_device(properties_of(device_));
    recorder.set_metadata("hunch_version", HUNCH_VERSION);
    recorder.set_metadata("hunch_variant", attention::variant_name(variant));
    const auto library = providers_.find(variant.provider());
    if (library != providers_.end()) recorder.set_metadata("hunch_provider", library->second);
    recorder.set_metadata("hunch_problem", options_.problem.text());
    recorder.set_metadata("hunch_device", info.name);
    if (!info.features.empty()) recorder.set_metadata("hunch_device_features", info.features);
    recorder.set_metadata("hunch_steps",
                          fmt::format("{},{},{}", schedule.wait, schedule.warmup, schedule.active));
    recorder.set_metadata("hunch_seed", std::to_string(options_.seed));
    recorder.set_metadata("traceName", attention::variant_name(variant));
  }

  static constexpr int kDropAfter = 64;  // steps that no recording keeps

  Device& device_;
  const Options& options_;
  const Providers providers_;
  const Progress& progress_;
  const Tracing tracing_;
  int done_ = 0;
  int total_ = 0;
};

}  // namespace

base::Result<std::vector<Recording>> run(Device& device, const Options& options, const Progress& progress) {
  HUNCH_ASSIGN(auto variants, find_variants(options.variants));
  HUNCH_RETURN_IF_ERROR(attention::validate(options.problem));
  if (bytes_of(options.problem) > static_cast<double>(device.available_bytes()))
    return too_large(device, options.problem);
  // Before the device's tracer: see Provider.
  HUNCH_ASSIGN(Providers providers, open_providers(variants));
  return Run(device, options, std::move(providers), progress).all(variants);
}

}  // namespace hunch::lab
