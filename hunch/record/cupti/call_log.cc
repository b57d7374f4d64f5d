// A log a thread, which only take() visits besides. See call_log.h.
#include "hunch/record/cupti/call_log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "hunch/base/clock.h"
#include "hunch/record/thread_buffer.h"

namespace hunch::record::cupti {
namespace {

std::atomic<uint64_t> g_serial{0};

// A call that has begun.
struct Frame {
  CUpti_CallbackId id = 0;
  bool driver = false;
  bool logged = false;  // false: the inside of a logged call
  uint32_t correlation = 0;
  int32_t blocks = -1;
  base::Ns start = 0;
};

struct Entry {
  CUpti_CallbackId id = 0;
  bool driver = false;
  uint32_t correlation = 0;
  int32_t blocks = -1;
  int32_t result = 0;
  base::Ns start = 0;
  base::Ns end = 0;
  uint64_t external = 0;
};

bool loads_code(std::string_view name) {
  return name.starts_with("cuModuleLoad") || name.starts_with("cuLibraryLoad") || name.starts_with("cuLink");
}

}  // namespace

struct CallLog::ThreadLog {
  int64_t tid = 0;
  // Of the thread alone.
  std::vector<Frame> open;
  std::vector<uint64_t> externals;
  // Of take() as well.
  std::mutex mutex;
  Chunked<Entry> ended;
};

CallLog::CallLog(const Library& library) : library_(library), names_(library), serial_(++g_serial) {
  const auto& launches = DriverOccupancy::launches();
  for (const bool driver : {false, true}) {
    auto& of = driver ? driver_ : runtime_;
    of.resize(names_.size(driver));
    for (uint32_t id = 0; id < of.size(); ++id) {
      const std::string_view name = names_.name(driver, id);
      of[id].logged = !name.empty();
      of[id].loads_code = driver && loads_code(name);
      of[id].launches = driver && std::find(launches.begin(), launches.end(), id) != launches.end();
    }
  }
}

CallLog::~CallLog() = default;

base::Status CallLog::switch_callbacks(CUpti_SubscriberHandle subscriber, bool on) {
  for (const bool driver : {false, true}) {
    const auto domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    for (uint32_t id = 1; id < names_.size(driver); ++id) {
      if (!kept(driver, id).logged) continue;
      const CUptiResult result = library_.cuptiEnableCallback(on ? 1 : 0, subscriber, domain, id);
      if (on) HUNCH_RETURN_IF_ERROR(library_.checked(result, "cuptiEnableCallback"));
    }
  }
  return {};
}

CallLog::ThreadLog& CallLog::log_of_thread() {
  struct Own {
    uint64_t serial = 0;
    ThreadLog* log = nullptr;
  };
  thread_local Own own;
  if (own.serial == serial_) [[likely]]
    return *own.log;  // NOLINT(clang-analyzer-core.uninitialized.UndefReturn): no log has the serial 0
  auto made = std::make_unique<ThreadLog>();
  made->tid = gettid();
  made->open.reserve(8);
  own = {serial_, made.get()};
  const std::lock_guard lock(mutex_);
  logs_.push_back(std::move(made));
  return *own.log;
}

void CallLog::called(bool driver, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (!kept(driver, id).logged || silent_.load(std::memory_order_relaxed)) return;
  ThreadLog& log = log_of_thread();
  if (call.callbackSite == CUPTI_API_ENTER)
    enter(log, driver, id, call);
  else
    leave(log, driver, id, call);
}

void CallLog::enter(ThreadLog& log, bool driver, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  const Kept what = kept(driver, id);
  const int32_t blocks = what.launches ? occupancy_.blocks(id, call) : -1;
  Frame frame;
  frame.id = id;
  frame.driver = driver;
  frame.correlation = call.correlationId;
  frame.blocks = blocks;
  frame.logged = true;
  if (!log.open.empty() && log.open.back().correlation == call.correlationId && !what.loads_code) {
    frame.logged = false;
    if (blocks >= 0) {
      for (Frame& outer : log.open)
        if (outer.correlation == call.correlationId) outer.blocks = blocks;
    }
  }
  if (frame.logged) frame.start = base::now_ns();
  log.open.push_back(frame);
}

void CallLog::leave(ThreadLog& log, bool driver, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  // Calls that were under way when logging began have no frame; those of a callback that never came, no exit.
  const auto is_this = [&](const Frame& frame) {
    return frame.id == id && frame.driver == driver && frame.correlation == call.correlationId;
  };
  const auto found = std::find_if(log.open.rbegin(), log.open.rend(), is_this);
  if (found == log.open.rend()) return;
  const Frame frame = *found;
  log.open.erase(found.base() - 1, log.open.end());
  if (!frame.logged) return;
  Entry entry;
  entry.end = base::now_ns();
  entry.start = frame.start;
  entry.id = id;
  entry.driver = driver;
  entry.correlation = frame.correlation;
  entry.blocks = frame.blocks;
  if (call.functionReturnValue != nullptr) {
    static_assert(sizeof(CUresult) == sizeof(int32_t));
    entry.result = *static_cast<const int32_t*>(call.functionReturnValue);
  }
  if (!log.externals.empty()) entry.external = log.externals.back();
  const std::lock_guard lock(log.mutex);
  log.ended.add(entry);
}

void CallLog::push(uint64_t external) { log_of_thread().externals.push_back(external); }

void CallLog::pop() {
  auto& externals = log_of_thread().externals;
  if (!externals.empty()) externals.pop_back();
}

void CallLog::take(DeviceActivity& activity) {
  const std::lock_guard lock(mutex_);
  for (const auto& log : logs_) {
    Chunked<Entry> ended;
    {
      const std::lock_guard lock_log(log->mutex);
      ended = std::exchange(log->ended, {});
    }
    for (std::size_t i = 0; i < ended.size(); ++i) {
      const Entry& entry = ended[i];
      ApiCall call;
      call.driver = entry.driver;
      call.name = activity.names.intern(names_.name(entry.driver, entry.id));
      call.tid = log->tid;
      call.start = entry.start;
      call.end = entry.end;
      call.correlation = entry.correlation;
      call.result = entry.result;
      call.driver_blocks = entry.blocks;
      call.external = entry.external;
      activity.calls.push_back(call);
    }
  }
}

}  // namespace hunch::record::cupti
