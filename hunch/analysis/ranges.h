// Which ranges of a trace count as forwards, and which of them a moment on a thread belongs to.
//
// A launch belongs to all ranges that enclose its start on its own thread. Autograd launches the backward
// pass from threads of its own: a launch there belongs to the ranges of the process's other threads that
// enclose it in time, if they are all on one thread; where several threads have such ranges, autograd's
// sequence numbers name the thread, and where those do not settle it the launch belongs to none. The same
// holds on a thread of autograd's that has ranges from hooks ("nccl:all_reduce"), beside those ranges.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

// How forwards were found, best first. Repetition and graph replay: unnamed_forwards.h.
enum class ForwardSource { annotation, step, module, repetition, graph_replay, whole_trace };
std::string_view name_of(ForwardSource source);

struct Ranges {
  ForwardSource source = ForwardSource::whole_trace;
  std::vector<EventId> events;  // by start, then longer first; empty for the whole trace
  uint64_t too_deep = 0;        // left out: more than kDeepestRanges of their thread are open around them
};

// Each piece of work belongs to all ranges around it, so their number must not grow with the trace: ranges
// that were never ended would all be open at once.
inline constexpr std::size_t kDeepestRanges = 100;

// Annotations, nested ones too; steps where there are none; else the frames of modules (module_ranges.h);
// the whole trace where there are none either.
Ranges find_ranges(const trace::Trace& trace, const Timeline& timeline);

// A moment to place: when host event `host` started. `subject` is passed through (the work, the op).
struct Moment {
  EventId host = kNone;
  EventId subject = kNone;
};

// Calls emit(index into ranges.events, subject) for each range that each moment belongs to, moments in the
// order given, which must be by start of `host`; a moment's ranges come by start. O(n log n + calls).
void place_in_ranges(const trace::Trace& trace, const Timeline& timeline, const Processes& processes,
                     const Ranges& ranges, const std::vector<Moment>& moments,
                     const std::function<void(std::size_t range, EventId subject)>& emit);

}  // namespace hunch::analysis
