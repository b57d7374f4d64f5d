// The program's calls into CUDA, logged by CUPTI's callbacks on the thread that makes them.
//
// In:  the entry and the exit of each call that api_calls.h keeps; ids that spans push. Out: ApiCalls by
// take(), each with the id pushed last before it began and, where it launched, the driver's own occupancy.
// Why not CUPTI's records of calls: those cost every call of both interfaces, and a record more for each id;
// the callbacks are made for the kept calls alone. Holds: a driver call that is the inside of a logged call,
// with the same correlation, is not logged beside it, unless it loads code. Logging takes no lock that
// another thread holds for long.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "hunch/record/cupti/api_calls.h"
#include "hunch/record/cupti/library.h"
#include "hunch/record/cupti/occupancy.h"
#include "hunch/record/device_tracer.h"

namespace hunch::record::cupti {

class CallLog {
 public:
  explicit CallLog(const Library& library);
  ~CallLog();

  // Has CUPTI tell `subscriber` of the kept calls, or tell it no more. Error: environment.
  base::Status enable(CUpti_SubscriberHandle subscriber) { return switch_callbacks(subscriber, true); }
  void disable(CUpti_SubscriberHandle subscriber) { static_cast<void>(switch_callbacks(subscriber, false)); }

  // From the subscriber's callback, for the domains of both interfaces.
  void called(bool driver, CUpti_CallbackId id, const CUpti_CallbackData& call);
  // Functions may go away, and their handles be used again.
  void forget_functions() { occupancy_.forget(); }

  // Logs nothing from now on: for a process that ends, and for the child of a fork, where another thread of
  // the parent may have held a lock.
  void silence() { silent_.store(true, std::memory_order_relaxed); }

  void push(uint64_t external);
  void pop();

  // Calls that ended since the last take, of all threads; those of a thread are in the order they ended.
  void take(DeviceActivity& activity);

 private:
  struct ThreadLog;
  struct Kept {
    bool logged = false;
    bool loads_code = false;
    bool launches = false;  // a launch that the occupancy is asked for
  };

  base::Status switch_callbacks(CUpti_SubscriberHandle subscriber, bool on);  // off does not fail
  ThreadLog& log_of_thread();
  void enter(ThreadLog& log, bool driver, CUpti_CallbackId id, const CUpti_CallbackData& call);
  void leave(ThreadLog& log, bool driver, CUpti_CallbackId id, const CUpti_CallbackData& call);
  Kept kept(bool driver, CUpti_CallbackId id) const {
    const auto& of = driver ? driver_ : runtime_;
    return id < of.size() ? of[id] : Kept();
  }

  const Library& library_;
  const ApiCalls names_;
  std::vector<Kept> runtime_, driver_;  // by callback id
  DriverOccupancy occupancy_;
  std::atomic<bool> silent_{false};
  const uint64_t serial_;  // of this log in the process, so that a thread knows its own
  std::mutex mutex_;       // guards logs_
  std::vector<std::unique_ptr<ThreadLog>> logs_;
};

}  // namespace hunch::record::cupti
