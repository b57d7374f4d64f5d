// The order of calls that CUPTI asks for: subscribe (which tells whether another client is there),
// attributes, the clock and the buffers' callbacks, and only then kinds of activity. See collector.h.
#include "hunch/record/cupti/collector.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hunch/base/clock.h"

namespace hunch::record::cupti {
namespace {

// Some ten thousand kernel records; large enough that a forward rarely waits for one.
constexpr std::size_t kBufferBytes = std::size_t{2} << 20;
constexpr std::size_t kPooledAtFirst = 8;
constexpr std::size_t kPooledAtMost = 64;

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                               CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMCPY2,
                               CUPTI_ACTIVITY_KIND_MEMSET,
                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                               CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

Collector* g_collector = nullptr;  // set before CUPTI may call back

// Zeroed, and aligned for records.
uint8_t* new_buffer() { return static_cast<uint8_t*>(std::calloc(1, kBufferBytes)); }

}  // namespace

Collector::Collector(const Library& library)
    : library_(library), calls_(library), reader_(calls_, library.version) {
  for (std::size_t i = 0; i < kPooledAtFirst; ++i)
    if (uint8_t* const buffer = new_buffer()) recycle({buffer, kBufferBytes});  // touches its pages
}

Collector& Collector::instance(const Library& library) {
  static auto* const collector = new Collector(library);
  g_collector = collector;
  return *collector;
}

base::Status Collector::subscribe() {
  HUNCH_RETURN_IF_ERROR(
      library_.checked(library_.cuptiSubscribe(&subscriber_, &called, this), "cuptiSubscribe"));
  const auto prepare = [this]() -> base::Status {
    // Older versions lack this attribute, and zero the buffers themselves.
    uint8_t zeroed = 1;
    std::size_t size = sizeof zeroed;
    library_.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    HUNCH_RETURN_IF_ERROR(library_.checked(
        library_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType"));
    HUNCH_RETURN_IF_ERROR(library_.checked(library_.cuptiActivityRegisterTimestampCallback(&timestamp),
                                           "cuptiActivityRegisterTimestampCallback"));
    return library_.checked(library_.cuptiActivityRegisterCallbacks(&buffer_requested, &buffer_completed),
                            "cuptiActivityRegisterCallbacks");
  };
  const base::Status prepared = prepare();
  if (!prepared) unsubscribe();
  return prepared;
}

void Collector::unsubscribe() {
  if (subscriber_ != nullptr) library_.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
}

base::Status Collector::enable() {
  if (collecting_) return {};
  const auto all = [this]() -> base::Status {
    for (const CUpti_ActivityKind kind : kKinds)
      HUNCH_RETURN_IF_ERROR(library_.checked(library_.cuptiActivityEnable(kind), "cuptiActivityEnable"));
    HUNCH_RETURN_IF_ERROR(enable_calls(false));
    HUNCH_RETURN_IF_ERROR(enable_calls(true));
    return enable_callbacks(true);
  };
  occupancy_.forget();
  collecting_ = true;
  const base::Status enabled = all();
  if (!enabled) disable();
  return enabled;
}

void Collector::disable() {
  enable_callbacks(false);
  disable_calls(false);
  disable_calls(true);
  for (const CUpti_ActivityKind kind : kKinds) library_.cuptiActivityDisable(kind);
  library_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  collecting_ = false;
  for (const Filled& dropped : filled()) recycle(dropped);
  occupancy_.take();
}

base::Status Collector::enable_calls(bool driver) {
  HUNCH_RETURN_IF_ERROR(library_.checked(
      library_.cuptiActivityEnable(driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME),
      "cuptiActivityEnable"));
  const auto one = driver ? library_.cuptiActivityEnableDriverApi : library_.cuptiActivityEnableRuntimeApi;
  if (way_ == Way::all || one == nullptr) return {};
  // Only after the kind as a whole, which would turn them all on again. What cannot be left out is passed
  // over when it is read.
  for (uint32_t id = 1; id < calls_.size(driver); ++id)
    if (calls_.name(driver, id).empty()) one(id, 0);
  return {};
}

void Collector::disable_calls(bool driver) {
  library_.cuptiActivityDisable(driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
}

base::Status Collector::settle() {
  for (const Way way : {Way::all_less_others, Way::all}) {
    way_ = way;
    HUNCH_ASSIGN(const bool works, records_calls());
    if (works) return {};
  }
  return base::fail(base::ErrorCode::environment, "CUPTI starts and then records no calls",
                    "CUPTI of the driver's own CUDA version");
}

base::Result<bool> Collector::records_calls() {
  HUNCH_RETURN_IF_ERROR(enable());
  cudaDeviceSynchronize();
  const DeviceActivity seen = take();
  disable();
  return std::any_of(seen.calls.begin(), seen.calls.end(), [&seen](const ApiCall& call) {
    return seen.names.view(call.name) == "cudaDeviceSynchronize";
  });
}

base::Status Collector::enable_callbacks(bool on) {
  for (const CUpti_CallbackId id : DriverOccupancy::launches()) {
    const CUptiResult result =
        library_.cuptiEnableCallback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
    if (on) HUNCH_RETURN_IF_ERROR(library_.checked(result, "cuptiEnableCallback"));
  }
  const CUptiResult result = library_.cuptiEnableCallback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                                                          CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
  return on ? library_.checked(result, "cuptiEnableCallback") : base::Status();
}

DeviceActivity Collector::take() {
  library_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  DeviceActivity taken;
  std::size_t dropped = 0;
  if (library_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) taken.lost = dropped;
  for (const Filled& full : filled()) {
    CUpti_Activity* record = nullptr;
    while (library_.cuptiActivityGetNextRecord(full.buffer, full.valid, &record) == CUPTI_SUCCESS)
      reader_.read(record, taken);
    recycle(full);
  }
  const auto blocks = occupancy_.take();
  for (TracedWork& work : taken.work) {
    if (work.kind != base::WorkKind::kernel || work.graph_node_id >= 0) continue;
    const auto found = blocks.find(work.correlation);
    if (found != blocks.end()) work.driver_blocks = found->second;
  }
  return taken;
}

uint8_t* Collector::buffer() {
  {
    const std::lock_guard lock(mutex_);
    if (!pool_.empty()) {
      uint8_t* const pooled = pool_.back();
      pool_.pop_back();
      return pooled;
    }
  }
  return new_buffer();
}

std::vector<Collector::Filled> Collector::filled() {
  const std::lock_guard lock(mutex_);
  return std::exchange(filled_, {});
}

void Collector::recycle(const Filled& filled) {
  std::memset(filled.buffer, 0, filled.valid);
  {
    const std::lock_guard lock(mutex_);
    if (pool_.size() < kPooledAtMost) {
      pool_.push_back(filled.buffer);
      return;
    }
  }
  std::free(filled.buffer);
}

void Collector::buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = g_collector->buffer();  // null without memory: CUPTI then counts what it drops
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

void Collector::buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (buffer == nullptr) return;
  const std::lock_guard lock(g_collector->mutex_);
  g_collector->filled_.push_back({buffer, valid});
}

void Collector::called(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  Collector& collector = *static_cast<Collector*>(self);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return collector.occupancy_.forget();
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) collector.occupancy_.launch(id, call);
}

uint64_t Collector::timestamp() { return static_cast<uint64_t>(base::now_ns()); }

}  // namespace hunch::record::cupti
