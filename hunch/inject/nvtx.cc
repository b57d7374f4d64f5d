// NVTX's functions as the injection answers them, and a log a thread. See nvtx.h.
#include "hunch/inject/nvtx.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "hunch/base/clock.h"
#include "hunch/base/utf8.h"

namespace hunch::inject {
namespace {

using record::spool::RangeWhat;

constexpr std::size_t kMostEvents = std::size_t{1} << 20;  // of a thread, between two takes
constexpr std::size_t kMostText = std::size_t{16} << 10;

// What a handle of NVTX's stands for; never freed, since a program may use it to its end.
struct Named {
  std::string name;
};

struct Event {
  RangeWhat what = RangeWhat::push;
  base::Ns time = 0;
  uint64_t id = 0;
  const Named* domain = nullptr;  // null: the default one
  std::size_t text = 0;           // a place in ThreadLog::text
  std::size_t length = 0;
};

struct ThreadLog {
  int64_t tid = 0;
  std::vector<std::pair<const Named*, int>> depths;  // of the thread alone
  std::mutex mutex;                                  // guards what follows
  std::vector<Event> events;
  std::string text;
  uint64_t dropped = 0;
};

struct Log {
  uint64_t serial = 0;
  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<ThreadLog>> threads;
  std::map<int64_t, std::string> names;
};

std::atomic<uint64_t> g_serial{0};
std::atomic<uint64_t> g_range{0};

Log* new_log() {
  auto* const made = new Log;
  made->serial = ++g_serial;
  return made;
}

// Lives as long as the process: threads may tell of ranges until its end.
std::atomic<Log*>& the_log() {
  static std::atomic<Log*> log{new_log()};
  return log;
}

ThreadLog& log_of_thread() {
  struct Own {
    uint64_t serial = 0;
    ThreadLog* log = nullptr;
  };
  thread_local Own own;
  Log& log = *the_log().load(std::memory_order_acquire);
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): no log has the serial 0
  if (own.serial == log.serial) return *own.log;
  auto made = std::make_unique<ThreadLog>();
  made->tid = gettid();
  own = {log.serial, made.get()};
  const std::lock_guard lock(log.mutex);
  log.threads.push_back(std::move(made));
  return *own.log;
}

void log(ThreadLog& thread, RangeWhat what, const Named* domain, std::string_view text, uint64_t id) {
  text = text.substr(0, kMostText);
  const base::Ns now = base::now_ns();
  const std::lock_guard lock(thread.mutex);
  if (thread.events.size() >= kMostEvents) {
    ++thread.dropped;
    return;
  }
  thread.events.push_back({what, now, id, domain, thread.text.size(), text.size()});
  thread.text.append(text);
}

int& depth_of(ThreadLog& thread, const Named* domain) {
  for (auto& [known, depth] : thread.depths)
    if (known == domain) return depth;
  return thread.depths.emplace_back(domain, 0).second;
}

int push(const Named* domain, std::string_view text) {
  ThreadLog& thread = log_of_thread();
  log(thread, RangeWhat::push, domain, text, 0);
  return depth_of(thread, domain)++;
}

int pop(const Named* domain) {
  ThreadLog& thread = log_of_thread();
  int& depth = depth_of(thread, domain);
  if (depth == 0) return -1;  // NVTX's answer where nothing is open
  log(thread, RangeWhat::pop, domain, {}, 0);
  return --depth;
}

uint64_t start(const Named* domain, std::string_view text) {
  const uint64_t id = ++g_range;
  log(log_of_thread(), RangeWhat::start, domain, text, id);
  return id;
}

void end(uint64_t id) { log(log_of_thread(), RangeWhat::end, nullptr, {}, id); }

std::string utf8(const wchar_t* wide) {
  std::string text;
  for (; wide != nullptr && *wide != 0; ++wide)
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a negative one is beyond the bound, as it should be
    if (const auto code = static_cast<uint32_t>(*wide); code < 0x110000) base::append_utf8(text, code);
  return text;
}

std::string_view text_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// `wide` keeps the text where it has to be made.
std::string_view text_of(const nvtxEventAttributes_t* attributes, std::string& wide) {
  if (attributes == nullptr) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return text_of(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      wide = utf8(attributes->message.unicode);
      return wide;
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* const named = reinterpret_cast<const Named*>(attributes->message.registered);
      return named == nullptr ? std::string_view() : std::string_view(named->name);
    }
    default:
      return {};
  }
}

const Named* named(nvtxDomainHandle_t domain) { return reinterpret_cast<const Named*>(domain); }

// NVTX's functions.

int range_push_a(const char* text) { return push(nullptr, text_of(text)); }
int range_push_w(const wchar_t* text) { return push(nullptr, utf8(text)); }
int range_push_ex(const nvtxEventAttributes_t* attributes) {
  std::string wide;
  return push(nullptr, text_of(attributes, wide));
}
int range_pop() { return pop(nullptr); }
nvtxRangeId_t range_start_a(const char* text) { return start(nullptr, text_of(text)); }
nvtxRangeId_t range_start_w(const wchar_t* text) { return start(nullptr, utf8(text)); }
nvtxRangeId_t range_start_ex(const nvtxEventAttributes_t* attributes) {
  std::string wide;
  return start(nullptr, text_of(attributes, wide));
}
void range_end(nvtxRangeId_t id) { end(id); }
void name_os_thread_a(uint32_t tid, const char* name) {
  Log& log = *the_log().load(std::memory_order_acquire);
  const std::lock_guard lock(log.mutex);
  log.names[tid] = text_of(name);
}

int domain_range_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  std::string wide;
  return push(named(domain), text_of(attributes, wide));
}
int domain_range_pop(nvtxDomainHandle_t domain) { return pop(named(domain)); }
nvtxRangeId_t domain_range_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  std::string wide;
  return start(named(domain), text_of(attributes, wide));
}
void domain_range_end(nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); }
nvtxDomainHandle_t domain_create_a(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new Named{std::string(text_of(name))});
}
nvtxDomainHandle_t domain_create_w(const wchar_t* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new Named{utf8(name)});
}
nvtxStringHandle_t domain_register_string_a(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new Named{std::string(text_of(text))});
}
nvtxStringHandle_t domain_register_string_w(nvtxDomainHandle_t, const wchar_t* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new Named{utf8(text)});
}

struct Function {
  int id;
  NvtxFunctionPointer function;
};

template <class F>
NvtxFunctionPointer untyped(F* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

void fill(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
          const std::vector<Function>& functions) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return;
  for (const auto& [id, function] : functions)
    if (static_cast<unsigned int>(id) < size && table[id] != nullptr) *table[id] = function;
}

}  // namespace

bool attach_nvtx(const void* (*get_export_table)(uint32_t)) {
  if (get_export_table == nullptr) return false;
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks) ||
      callbacks->GetModuleFunctionTable == nullptr)
    return false;
  fill(*callbacks, NVTX_CB_MODULE_CORE,
       {{NVTX_CBID_CORE_RangePushA, untyped(&range_push_a)},
        {NVTX_CBID_CORE_RangePushW, untyped(&range_push_w)},
        {NVTX_CBID_CORE_RangePushEx, untyped(&range_push_ex)},
        {NVTX_CBID_CORE_RangePop, untyped(&range_pop)},
        {NVTX_CBID_CORE_RangeStartA, untyped(&range_start_a)},
        {NVTX_CBID_CORE_RangeStartW, untyped(&range_start_w)},
        {NVTX_CBID_CORE_RangeStartEx, untyped(&range_start_ex)},
        {NVTX_CBID_CORE_RangeEnd, untyped(&range_end)},
        {NVTX_CBID_CORE_NameOsThreadA, untyped(&name_os_thread_a)}});
  fill(*callbacks, NVTX_CB_MODULE_CORE2,
       {{NVTX_CBID_CORE2_DomainRangePushEx, untyped(&domain_range_push_ex)},
        {NVTX_CBID_CORE2_DomainRangePop, untyped(&domain_range_pop)},
        {NVTX_CBID_CORE2_DomainRangeStartEx, untyped(&domain_range_start_ex)},
        {NVTX_CBID_CORE2_DomainRangeEnd, untyped(&domain_range_end)},
        {NVTX_CBID_CORE2_DomainCreateA, untyped(&domain_create_a)},
        {NVTX_CBID_CORE2_DomainCreateW, untyped(&domain_create_w)},
        {NVTX_CBID_CORE2_DomainRegisterStringA, untyped(&domain_register_string_a)},
        {NVTX_CBID_CORE2_DomainRegisterStringW, untyped(&domain_register_string_w)}});
  return true;
}

TakenRanges take_ranges() {
  TakenRanges taken;
  Log& log = *the_log().load(std::memory_order_acquire);
  const std::lock_guard lock(log.mutex);
  taken.threads = std::exchange(log.names, {});
  taken.texts.reserve(log.threads.size());
  for (const auto& thread : log.threads) {
    std::vector<Event> events;
    {
      const std::lock_guard lock_thread(thread->mutex);
      if (thread->events.empty() && thread->dropped == 0) continue;
      events = std::exchange(thread->events, {});
      taken.texts.push_back(std::exchange(thread->text, {}));
      taken.dropped += std::exchange(thread->dropped, 0);
    }
    const std::string_view text = taken.texts.back();
    for (const Event& event : events)
      taken.events.push_back(
          {event.what, thread->tid, event.time, event.id,
           event.domain == nullptr ? std::string_view() : std::string_view(event.domain->name),
           text.substr(event.text, event.length)});
  }
  return taken;
}

void restart_ranges() { the_log().store(new_log(), std::memory_order_release); }

}  // namespace hunch::inject
