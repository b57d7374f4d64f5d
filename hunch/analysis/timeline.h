// The timeline: which host event encloses which, and which call launched which device work.
//
// In:  a Trace, in any order, with crossings and missing ids. Out: the links below, by EventId.
// Holds: parent chains end; a device event's launch is joined by correlation within its process (device
// tracks have pids of their own, so by correlation alone where only one call has it), never by time; where
// two calls share a correlation the runtime call wins over the driver call.
#pragma once

#include <vector>

#include "hunch/trace/trace.h"

namespace hunch::analysis {

using trace::EventId;
using trace::kNone;
using trace::Ns;

struct Timeline {
  std::vector<EventId> parent;  // innermost enclosing host event of the same track, or kNone; kNone for device work
  std::vector<EventId> launch;  // device work: its launch call, or kNone; kNone for host events
  std::vector<EventId> device_order;  // all device work by start time, then row
  uint64_t unlinked = 0;        // device work without a launch call in the trace
};

Timeline build_timeline(const trace::Trace& trace);

// The ops (EventKind::op) that enclose a device event's launch call, outermost first; empty where unlinked.
std::vector<EventId> op_stack(const trace::Trace& trace, const Timeline& timeline, EventId device_event);

// The innermost of them, or kNone.
EventId launching_op(const trace::Trace& trace, const Timeline& timeline, EventId device_event);

}  // namespace hunch::analysis
