// The handle that a recording holds of the process's collector: opened once at a time, closed when it goes.
#include "hunch/record/cupti/tracer.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <string>

#include "hunch/record/cupti/collector.h"

namespace hunch::record::cupti {
namespace {

std::atomic<bool> g_open{false};

class Tracer final : public DeviceTracer {
 public:
  explicit Tracer(Collector& collector) : collector_(collector), library_(collector.library()) {}
  ~Tracer() override {
    stop();
    collector_.unsubscribe();
    g_open = false;
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  base::Status start() override {
    HUNCH_RETURN_IF_ERROR(collector_.enable());
    started_ = true;
    return {};
  }
  DeviceActivity take() override {
    DeviceActivity activity = collector_.take(true);
    int version = 0;
    if (cudaDriverGetVersion(&version) == cudaSuccess)
      activity.metadata["cuda_driver_version"] = std::to_string(version);
    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
      activity.metadata["cuda_runtime_version"] = std::to_string(version);
    activity.metadata["cupti_version"] = std::to_string(library_.version);
    return activity;
  }
  void stop() override {
    if (started_) collector_.disable();
    started_ = false;
  }
  void push(uint64_t external) override { collector_.calls().push(external); }
  void pop() override { collector_.calls().pop(); }

 private:
  Collector& collector_;
  const Library& library_;
  bool started_ = false;
};

}  // namespace

base::Result<std::unique_ptr<DeviceTracer>> open_tracer() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return base::fail(base::ErrorCode::environment, "this machine has no NVIDIA driver, so nothing to trace",
                      "a machine with an NVIDIA GPU and its driver");
  const base::Result<Library>& opened = library();
  if (!opened) return base::fail(opened.error());
  if (g_open.exchange(true))
    return base::fail(base::ErrorCode::environment, "this process has a tracer open already",
                      "one at a time");
  Collector& collector = Collector::instance(*opened);
  const base::Status subscribed = collector.subscribe();
  if (!subscribed) {
    g_open = false;
    return base::fail(subscribed.error());
  }
  auto tracer = std::make_unique<Tracer>(collector);
  // Whether kinds of activity may be recorded shows only when they are asked for.
  HUNCH_RETURN_IF_ERROR(collector.enable());
  collector.disable();
  return tracer;
}

}  // namespace hunch::record::cupti
