// See fake_cupti.h. Records lie in the buffers of whoever registered for them, as CUPTI lays them; a buffer
// is handed back when it is full or at a flush. FAKE_CUPTI_REFUSES names a function that fails.
#include "tests/inject/fake_cupti.h"

#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

std::recursive_mutex g_mutex;
CUpti_CallbackFunc g_callback = nullptr;
void* g_user = nullptr;
CUpti_BuffersCallbackRequestFunc g_request = nullptr;
CUpti_BuffersCallbackCompleteFunc g_complete = nullptr;
CUpti_TimestampCallbackFunc g_clock = nullptr;
std::set<std::pair<int, uint32_t>> g_enabled;
std::set<int> g_kinds;
uint8_t* g_buffer = nullptr;
size_t g_size = 0, g_filled = 0;
bool g_unfinished = false;
uint32_t g_correlation = 0;

CUptiResult answer(const char* function) {
  const char* const refuses = std::getenv("FAKE_CUPTI_REFUSES");
  return refuses != nullptr && std::strcmp(refuses, function) == 0 ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
                                                                   : CUPTI_SUCCESS;
}

void hand_back() {
  if (g_buffer == nullptr) return;
  uint8_t* const buffer = std::exchange(g_buffer, nullptr);
  const size_t filled = std::exchange(g_filled, 0);
  g_complete(nullptr, 0, buffer, g_size, filled);
}

void add(const void* record, size_t size) {
  if (g_request == nullptr) return;
  if (g_buffer != nullptr && g_filled + size > g_size) hand_back();
  if (g_buffer == nullptr) {
    size_t most = 0;
    g_request(&g_buffer, &g_size, &most);
    if (g_buffer == nullptr) return;
  }
  std::memcpy(g_buffer + g_filled, record, size);
  g_filled += size;
}

size_t size_of(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    default:
      return 0;
  }
}

struct Call {
  CUpti_CallbackDomain domain;
  uint32_t id;
  const char* name;
};
constexpr Call kLaunch = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                          "cudaLaunchKernel_v7000"};
constexpr Call kCuLaunch = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                            "cuLaunchKernel"};
constexpr Call kCopy = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
                        "cudaMemcpyAsync_v3020"};

void tell(const Call& call, bool enter, uint32_t correlation) {
  if (g_callback == nullptr || g_enabled.count({call.domain, call.id}) == 0) return;
  int result = 0;
  CUpti_CallbackData data{};
  data.callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT;
  data.functionName = call.name;
  data.correlationId = correlation;
  data.functionReturnValue = &result;
  g_callback(g_user, call.domain, call.id, &data);
}

uint32_t called(const Call& call, const Call* inside) {
  const std::lock_guard lock(g_mutex);
  const uint32_t correlation = ++g_correlation;
  tell(call, true, correlation);
  if (inside != nullptr) {
    tell(*inside, true, correlation);
    tell(*inside, false, correlation);
  }
  tell(call, false, correlation);
  return correlation;
}

void kernel(const char* name, uint32_t correlation) {
  const std::lock_guard lock(g_mutex);
  if (g_kinds.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 0 || g_clock == nullptr) return;
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = g_clock();
  record.end = record.start + 1000;
  record.correlationId = correlation;
  record.streamId = 7;
  record.name = name;
  record.gridX = record.gridY = record.gridZ = 1;
  record.blockX = 128;
  record.blockY = record.blockZ = 1;
  record.registersPerThread = 32;
  add(&record, sizeof record);
}

}  // namespace

FAKE uint32_t fake_launch(const char* name, int work) {
  const uint32_t correlation = called(kLaunch, &kCuLaunch);
  for (int i = 0; i < work; ++i) kernel(name, correlation);
  return correlation;
}
FAKE uint32_t fake_launch_unfinished(const char* name) {
  const uint32_t correlation = fake_launch(name, 1);
  const std::lock_guard lock(g_mutex);
  g_unfinished = true;
  return correlation;
}
FAKE void fake_finish() {
  const std::lock_guard lock(g_mutex);
  g_unfinished = false;
}
FAKE uint32_t fake_copy(uint64_t bytes) {
  const uint32_t correlation = called(kCopy, nullptr);
  const std::lock_guard lock(g_mutex);
  if (g_kinds.count(CUPTI_ACTIVITY_KIND_MEMCPY) == 0 || g_clock == nullptr) return correlation;
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  record.srcKind = record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.bytes = bytes;
  record.start = g_clock();
  record.end = record.start + 500;
  record.correlationId = correlation;
  record.streamId = 7;
  add(&record, sizeof record);
  return correlation;
}

FAKE CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = 130000;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&g_mutex);
  g_callback = callback;
  g_user = user;
  return answer("cuptiSubscribe");
}
FAKE CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  g_callback = nullptr;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                     CUpti_CallbackId id) {
  const std::lock_guard lock(g_mutex);
  if (on != 0)
    g_enabled.insert({domain, id});
  else
    g_enabled.erase({domain, id});
  return answer("cuptiEnableCallback");
}
FAKE CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  for (const Call& call : {kLaunch, kCuLaunch, kCopy}) {
    if (call.domain != domain || call.id != id) continue;
    *name = call.name;
    return CUPTI_SUCCESS;
  }
  // Named, and none that is kept, so that the ids behind it are found.
  *name = "cudaGetNothing";
  return id < 600 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(g_mutex);
  g_kinds.insert(kind);
  return answer("cuptiActivityEnable");
}
FAKE CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(g_mutex);
  g_kinds.erase(kind);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  const std::lock_guard lock(g_mutex);
  if (!g_unfinished || flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) hand_back();
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + size_of(*record);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                CUpti_BuffersCallbackCompleteFunc complete) {
  g_request = request;
  g_complete = complete;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  g_clock = clock;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) { return CUPTI_SUCCESS; }
FAKE CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
