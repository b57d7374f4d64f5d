// The timeline: which host event encloses which, and which call launched which device work.
//
// In:  a Trace, in any order, with crossings and missing ids. Out: the links below, by EventId.
// Holds: parent chains end; a device event's launch is joined by correlation within its process (device
// tracks have pids of their own, so by correlation alone where only one process has it), never by time;
// where two calls share a correlation the runtime call wins over the driver call. O(n log n).
#pragma once

#include <string_view>
#include <vector>

#include "hunch/trace/trace.h"

namespace hunch::analysis {

using trace::EventId;
using trace::kNone;
using trace::Ns;

struct Timeline {
  std::vector<EventId>
      parent;  // innermost enclosing host event of the same track, or kNone; kNone for device work
  // Host events by track, then start, longer first: those of track t from host_begin[t] to host_begin[t + 1].
  std::vector<EventId> host_order;
  std::vector<std::size_t> host_begin;
  std::vector<EventId> launch;  // device work: its launch call, or kNone; kNone for host events
  std::vector<EventId> waits;   // synchronizing calls by track, then start; of nested ones the outermost
  std::vector<EventId> one_time_calls;  // is_one_time_call() by their names; by track, then start
  std::vector<EventId> device_order;    // all device work by start time, then row
  std::vector<Ns> device_reach;         // beside device_order: the latest end of any device work up to there
  uint64_t unlinked = 0;                // device work without a launch call in the trace
};

// An event may end this much after the event it starts in and still nest: clocks and rounding differ.
inline constexpr Ns kNestingSlack = 5'000;

// Levels of nested ops, and of all else together. Real stacks of Python reach hundreds, ops a few dozen. What
// nests deeper is a child of the last level, so that a walk outwards stays short whatever a trace holds.
inline constexpr uint32_t kDeepestOps = 100;
inline constexpr uint32_t kDeepestOthers = 2'000;

// The same for any number of threads.
Timeline build_timeline(const trace::Trace& trace, int threads = 1);

// The ops (EventKind::op) that enclose a device event's launch call, outermost first; empty where unlinked.
std::vector<EventId> op_stack(const trace::Trace& trace, const Timeline& timeline, EventId device_event);

// The op right before `op` on its track under the same parent, calls between them passed over; kNone where
// there is none, or where it had not ended.
EventId previous_op(const trace::Trace& trace, const Timeline& timeline, EventId op);

// The innermost of them, or kNone.
EventId launching_op(const trace::Trace& trace, const Timeline& timeline, EventId device_event);

// Whether a call by this name returns only when the device is done: the synchronize calls and the copies
// that are not asynchronous. Names alone do not tell whether it did have to wait.
bool is_synchronizing_call(std::string_view name);

// Whether a call by this name happens once, or until a pool has grown: it loads modules or libraries of
// kernels, or allocates device memory from the driver.
bool is_one_time_call(std::string_view name);

// Per track the number of its process: tracks with the same pid have the same number, from 0 without gaps.
struct Processes {
  std::vector<uint32_t> of_track;
  uint32_t count = 0;
};
Processes number_processes(const trace::Trace& trace);

}  // namespace hunch::analysis
