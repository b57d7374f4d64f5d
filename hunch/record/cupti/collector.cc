// The order of calls that CUPTI asks for: subscribe (which tells whether another client is there),
// attributes, the clock and the buffers' callbacks, and only then kinds of activity. See collector.h.
#include "hunch/record/cupti/collector.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hunch/base/clock.h"

namespace hunch::record::cupti {
namespace {

constexpr std::size_t kPooledAtFirst = 8;
constexpr std::size_t kPooledAtMost = 64;

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                               CUPTI_ACTIVITY_KIND_OVERHEAD,          CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};

Collector* g_collector = nullptr;  // set before CUPTI may call back

}  // namespace

Collector::Collector(const Library& library, std::size_t buffer_bytes)
    : library_(library), buffer_bytes_(buffer_bytes), calls_(library), reader_(library.version) {
  for (std::size_t i = 0; i < kPooledAtFirst; ++i)
    if (uint8_t* const buffer = new_buffer()) recycle({buffer, buffer_bytes_});  // touches its pages
}

Collector& Collector::instance(const Library& library, std::size_t buffer_bytes) {
  static auto* const collector = new Collector(library, buffer_bytes);
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
  base::Status prepared = prepare();
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
    return enable_callbacks(true);
  };
  calls_.forget_functions();
  collecting_ = true;
  base::Status enabled = all();
  if (!enabled) disable();
  return enabled;
}

void Collector::disable() {
  enable_callbacks(false);
  for (const CUpti_ActivityKind kind : kKinds) library_.cuptiActivityDisable(kind);
  library_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  collecting_ = false;
  for (const Filled& dropped : filled()) recycle(dropped);
  DeviceActivity dropped;
  calls_.take(dropped);
}

void Collector::disable_waits() { library_.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION); }

base::Status Collector::enable_callbacks(bool on) {
  if (on)
    HUNCH_RETURN_IF_ERROR(calls_.enable(subscriber_));
  else
    calls_.disable(subscriber_);
  const CUptiResult result = library_.cuptiEnableCallback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                                                          CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
  return on ? library_.checked(result, "cuptiEnableCallback") : base::Status();
}

DeviceActivity Collector::take(bool whole) {
  // Work first: a call whose work is taken has begun before, and most have ended.
  library_.cuptiActivityFlushAll(whole ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : CUPTI_ACTIVITY_FLAG_NONE);
  DeviceActivity taken;
  std::size_t dropped = 0;
  if (library_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) taken.lost = dropped;
  for (const Filled& full : filled()) {
    CUpti_Activity* record = nullptr;
    while (library_.cuptiActivityGetNextRecord(full.buffer, full.valid, &record) == CUPTI_SUCCESS)
      reader_.read(record, taken);
    recycle(full);
  }
  calls_.take(taken);
  return taken;
}

uint8_t* Collector::new_buffer() const { return static_cast<uint8_t*>(std::calloc(1, buffer_bytes_)); }

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
  *size = *buffer != nullptr ? g_collector->buffer_bytes_ : 0;
  *most_records = 0;
}

void Collector::buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (buffer == nullptr) return;
  const std::lock_guard lock(g_collector->mutex_);
  g_collector->filled_.push_back({buffer, valid});
}

void Collector::called(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  Collector& collector = *static_cast<Collector*>(self);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) return collector.calls_.forget_functions();
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
    collector.calls_.called(domain == CUPTI_CB_DOMAIN_DRIVER_API, id,
                            *static_cast<const CUpti_CallbackData*>(data));
}

uint64_t Collector::timestamp() { return static_cast<uint64_t>(base::now_ns()); }

}  // namespace hunch::record::cupti
