// Running the variants: checks first, then one variant after the other, each recorded and judged.
//
// In:  a device and what to run on it. Out: a Recording a variant.
// Holds: all variants get the same tensors; only the active steps are in a trace; a step ends when the device
// is idle, and "attn_fwd" ends before that wait, so its host time is that of launching. The judged run is a
// separate one, unrecorded, in which every allocation is filled with NaN first.
#include "hunch/lab/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "hunch/attention/dispatch.h"
#include "hunch/base/probe.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/lab/judge.h"
#include "hunch/record/recorder.h"

namespace hunch::lab {
namespace {

using attention::Backend;
using base::ErrorCode;
using tensor::Device;

base::Result<std::vector<const Backend*>> find_variants(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Backend* backend : attention::backends()) known.push_back(backend->name());
  std::vector<const Backend*> found;
  for (const std::string& name : names) {
    const Backend* backend = attention::find_backend(name);
    if (backend == nullptr) {
      const std::string_view near = base::closest(name, known);
      const std::vector<std::string> all(known.begin(), known.end());
      return base::fail(ErrorCode::usage,
                        near.empty()
                            ? fmt::format("no variant is named '{}'", name)
                            : fmt::format("no variant is named '{}'; did you mean '{}'?", name, near),
                        "one of " + base::join(all, ", "));
    }
    found.push_back(backend);
  }
  return found;
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

trace::DeviceProperties properties_of(const tensor::DeviceInfo& info) {
  trace::DeviceProperties properties;
  properties.id = info.index;
  properties.name = info.name;
  properties.multiprocessors = info.multiprocessors;
  properties.memory_bytes = info.memory_bytes;
  properties.compute_major = info.compute_major;
  properties.compute_minor = info.compute_minor;
  properties.is_cpu = info.kind == tensor::DeviceKind::cpu;
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

class Run {
 public:
  Run(Device& device, const Options& options, const Progress& progress)
      : device_(device),
        options_(options),
        progress_(progress),
        total_(static_cast<int>(options.variants.size()) * (options.schedule.total() + 1)) {}

  base::Result<std::vector<Recording>> all(const std::vector<const Backend*>& variants) {
    attention::Call call;
    std::optional<Judge> judge;
    try {
      tell("making the inputs");
      call = attention::make_call(device_, options_.problem, options_.seed);
      const bool any = std::any_of(variants.begin(), variants.end(), [&call](const Backend* variant) {
        return variant->refusals(call).empty();
      });
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

  // `judge` may be missing only where every variant refuses.
  Recording one(const Backend& variant, const attention::Call& call, const std::optional<Judge>& judge) {
    Recording recording;
    recording.variant = variant.name();
    recording.refusals = variant.refusals(call);
    if (!recording.refusals.empty()) return recording;
    // Both outlive what the device still does when an allocation fails.
    record::Recorder recorder, of_warmup;
    try {
      const attention::PinBackends pin({std::string(variant.name())});
      {
        const attention::Prepared prepared = variant.prepare(call);
        device_.synchronize();
        run_steps(variant, prepared, of_warmup, recorder);
      }
      const ScopedPoison poison(device_);
      tell(fmt::format("{}: comparing with the reference", variant.name()));
      const attention::Output output = attention::run_backend(variant, variant.prepare(call));
      const Judgement judgement = judge->judge(output.out, variant.by_hand());
      recording.max_abs_error = judgement.max_abs_error;
      recording.error_ok = judgement.ok;
      recording.error_bound = judge->error_bound();
      ++done_;
    } catch (const std::bad_alloc&) {
      device_.synchronize();
      recording = {};
      recording.variant = variant.name();
      recording.refusals = {fmt::format("it ran out of memory: {} has {} free", device_.info().name,
                                        base::format_bytes(device_.available_bytes()))};
      return recording;
    }
    describe(variant, recorder);
    recording.trace = recorder.finish();
    return recording;
  }

  // The device is idle before the first step, and after each.
  void run_steps(const Backend& variant, const attention::Prepared& prepared, record::Recorder& of_warmup,
                 record::Recorder& recorder) {
    const record::Schedule& schedule = options_.schedule;
    for (int step = 0; step < schedule.total(); ++step) {
      tell(fmt::format("{}: step {} of {}", variant.name(), step + 1, schedule.total()));
      switch (record::phase_of(schedule, step)) {
        case record::Phase::wait:
          run_step(variant, prepared, step);
          break;
        case record::Phase::warmup: {
          const base::ScopedProbe probe(&of_warmup);
          run_step(variant, prepared, step);
          break;
        }
        case record::Phase::active: {
          const base::ScopedProbe probe(&recorder);
          run_step(variant, prepared, step);
          break;
        }
      }
      ++done_;
    }
  }

  void run_step(const Backend& variant, const attention::Prepared& prepared, int step) {
    const base::Span whole(base::SpanKind::step, fmt::format("ProfilerStep#{}", step));
    attention::Output output;
    {
      const base::Span forward(base::SpanKind::annotation, "attn_fwd");
      output = attention::run_backend(variant, prepared);
    }
    device_.synchronize();
  }

  void describe(const Backend& variant, record::Recorder& recorder) const {
    const tensor::DeviceInfo& info = device_.info();
    const record::Schedule& schedule = options_.schedule;
    recorder.add_device(properties_of(info));
    recorder.set_metadata("hunch_version", HUNCH_VERSION);
    recorder.set_metadata("hunch_variant", std::string(variant.name()));
    recorder.set_metadata("hunch_problem", options_.problem.text());
    recorder.set_metadata("hunch_device", info.name);
    if (!info.features.empty()) recorder.set_metadata("hunch_device_features", info.features);
    recorder.set_metadata("hunch_steps",
                          fmt::format("{},{},{}", schedule.wait, schedule.warmup, schedule.active));
    recorder.set_metadata("hunch_seed", std::to_string(options_.seed));
    recorder.set_metadata("traceName", std::string(variant.name()));
  }

  Device& device_;
  const Options& options_;
  const Progress& progress_;
  int done_ = 0;
  int total_ = 0;
};

}  // namespace

base::Result<std::vector<Recording>> run(Device& device, const Options& options, const Progress& progress) {
  HUNCH_ASSIGN(auto variants, find_variants(options.variants));
  HUNCH_RETURN_IF_ERROR(attention::validate(options.problem));
  if (bytes_of(options.problem) > static_cast<double>(device.available_bytes()))
    return too_large(device, options.problem);
  return Run(device, options, progress).all(variants);
}

}  // namespace hunch::lab
