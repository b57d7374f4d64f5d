// What recording costs a CUDA program: device time of forwards recorded against unrecorded, and host time of
// a launch recorded against unrecorded. Prints one table; each row's numbers are of one run, in turns.
//
// Device time: a pair of events around a number of forwards in a row, on the reference problem. Host time:
// the same calls on a problem so small that the host is what takes the time, over the number of launches that
// the recording counted. "tracer on" has the tracer collect while no probe listens: its share of the cost.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hunch/attention/backend.h"
#include "hunch/attention/dispatch.h"
#include "hunch/base/clock.h"
#include "hunch/base/probe.h"
#include "hunch/record/device_tracer.h"
#include "hunch/record/recorder.h"
#include "hunch/tensor/cuda.h"
#include "hunch/tensor/cuda_device.h"
#include "hunch/trace/trace.h"

namespace {

using namespace hunch;

constexpr int kTurns = 15;

enum class Mode { bare, tracer_on, recorded };

struct Times {
  double device_ns = 0;  // of one forward
  double host_ns = 0;    // of one forward's calls
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Bench {
 public:
  Bench(tensor::Device& device, record::DeviceTracer& tracer) : device_(device), tracer_(tracer) {
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void row(const attention::Backend& variant, const attention::Problem& large,
           const attention::Problem& small) {
    const attention::PinBackends pin({std::string(variant.name())});
    std::string line = fmt::format("{:14}", variant.name());
    for (const attention::Problem* problem : {&large, &small}) {
      const attention::Call call = attention::make_call(device_, *problem, 1);
      if (!variant.refusals(call).empty()) {
        fmt::print("{:14} refuses\n", variant.name());
        return;
      }
      const attention::Prepared prepared = variant.prepare(call);
      const int forwards = problem == &large ? 20 : 200;
      std::vector<double> device[3], host[3];
      int64_t work = 0;
      measure(variant, prepared, 10, Mode::recorded, work);
      for (int turn = 0; turn < kTurns; ++turn) {
        for (const Mode mode : {Mode::bare, Mode::tracer_on, Mode::recorded}) {
          const Times times = measure(variant, prepared, forwards, mode, work);
          device[static_cast<int>(mode)].push_back(times.device_ns);
          host[static_cast<int>(mode)].push_back(times.host_ns);
        }
      }
      if (problem == &large) {
        const double bare = median(device[0]);
        line += fmt::format(" {:4} {:10.2f} {:10.2f} {:10.2f} {:+7.2f} %", work / forwards, bare / 1e3,
                            median(device[1]) / 1e3, median(device[2]) / 1e3,
                            100 * (median(device[2]) / bare - 1));
      } else {
        const double launches = static_cast<double>(work) / forwards;
        const double bare = median(host[0]) / launches;
        line +=
            fmt::format(" | {:8.2f} {:8.2f} {:8.2f} {:+8.2f}", bare / 1e3, median(host[1]) / launches / 1e3,
                        median(host[2]) / launches / 1e3, (median(host[2]) / launches - bare) / 1e3);
      }
    }
    fmt::print("{}\n", line);
  }

 private:
  Times measure(const attention::Backend& variant, const attention::Prepared& prepared, int forwards,
                Mode mode, int64_t& work) {
    record::Recorder recorder(&tracer_);
    device_.synchronize();
    if (mode == Mode::bare)
      tracer_.stop();
    else if (!recorder.start())
      std::abort();
    Times times;
    const auto run = [&] {
      const base::Span span(base::SpanKind::annotation, "attn_fwd");
      attention::run_backend(variant, prepared);
    };
    {
      const base::ScopedProbe probe(mode == Mode::recorded ? &recorder : nullptr);
      run();  // the first after a start or stop is not the usual one
      device_.synchronize();
      const auto stream = static_cast<cudaStream_t>(device_.as_cuda()->stream());
      cudaEventRecord(begin_, stream);
      const base::Ns start = base::now_ns();
      for (int i = 0; i < forwards; ++i) run();
      times.host_ns = static_cast<double>(base::now_ns() - start) / forwards;
      cudaEventRecord(end_, stream);
      cudaEventSynchronize(end_);
    }
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin_, end_);
    times.device_ns = static_cast<double>(milliseconds) * 1e6 / forwards;
    device_.synchronize();
    if (mode != Mode::recorded) return times;
    const trace::Trace trace = recorder.finish();
    work = std::count_if(trace.kind.begin(), trace.kind.end(), trace::is_device_work) * forwards /
           (forwards + 1);
    for (const std::string& warning : trace.stats.warnings) fmt::print("warning: {}\n", warning);
    return times;
  }

  tensor::Device& device_;
  record::DeviceTracer& tracer_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

int complain(const base::Error& error) {
  fmt::print(stderr, "{}\n", base::describe(error));
  return 2;
}

}  // namespace

int main() {
  auto device = tensor::open_cuda();
  if (!device) return complain(device.error());
  auto tracer = record::open_device_tracer();
  if (!tracer) return complain(tracer.error());
  attention::Problem large;
  large.batch = 8;
  large.heads = large.kv_heads = 16;
  large.length = large.kv_length = 1024;
  large.head_dim = 64;
  large.dtype = tensor::DType::bf16;
  large.mask = attention::MaskKind::causal;
  attention::Problem small = large;
  small.batch = small.heads = small.kv_heads = 1;
  small.length = small.kv_length = 64;
  fmt::print("{}; device time of a forward of {} in us, host time of a launch of {} in us\n",
             (*device)->info().name, large.text(), small.text());
  fmt::print("{:14} {:>4} {:>10} {:>10} {:>10} {:>9} | {:>8} {:>8} {:>8} {:>8}\n", "variant", "work", "bare",
             "tracer on", "recorded", "change", "bare", "tracer", "recorded", "more");
  Bench bench(**device, **tracer);
  for (const attention::Backend* backend : attention::backends()) bench.row(*backend, large, small);
  return 0;
}
