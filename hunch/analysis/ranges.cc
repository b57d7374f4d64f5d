// Finding ranges, and one sweep in time that keeps the ranges now open per process; see ranges.h.
#include "hunch/analysis/ranges.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>

#include "hunch/analysis/forward_threads.h"
#include "hunch/analysis/module_ranges.h"
#include "hunch/analysis/natural_sort.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

constexpr std::string_view kEngine = "autograd::engine::evaluate_function";

struct OpenRange {
  std::size_t index;  // into Ranges::events
  uint32_t track;
  Ns start, end;
};

class Placer {
 public:
  Placer(const Trace& trace, const Timeline& timeline, const Processes& processes, const Ranges& ranges)
      : trace_(trace),
        timeline_(timeline),
        processes_(processes),
        open_(processes.count),
        has_ranges_(trace.tracks.size(), false),
        is_backward_(trace.tracks.size(), false) {
    find_backward_threads(ranges);
  }

  void open(std::size_t index, EventId range) {
    const uint32_t track = trace_.track[range];
    open_[processes_.of_track[track]].push_back({index, track, trace_.start[range], trace_.end(range)});
  }

  // The ranges that a moment belongs to, by start.
  const std::vector<std::size_t>& place(EventId host) {
    const Ns time = trace_.start[host];
    const uint32_t own_track = trace_.track[host];
    auto& open = open_[processes_.of_track[own_track]];
    open.erase(std::remove_if(open.begin(), open.end(), [time](const OpenRange& r) { return r.end < time; }),
               open.end());
    const uint32_t other_track = other_thread(host, open);
    placed_.clear();
    for (const OpenRange& range : open)
      if (range.track == own_track || range.track == other_track) placed_.push_back(range.index);
    return placed_;
  }

 private:
  // The thread whose ranges a moment of another thread belongs to; kNone where there is none.
  uint32_t other_thread(EventId host, const std::vector<OpenRange>& open) {
    const uint32_t own_track = trace_.track[host];
    uint32_t only = kNone;
    bool several = false;
    for (const OpenRange& range : open) {
      if (range.track == own_track) continue;
      several = several || (only != kNone && only != range.track);
      only = range.track;
    }
    if (only == kNone) return kNone;
    const bool own_ranges = has_ranges_[own_track];
    if (own_ranges && !is_backward_[own_track]) return kNone;
    if (!several && !own_ranges) return only;

    // Autograd's own numbers decide among several threads. On a thread with ranges of its own (a hook's, a
    // collective's) they may also say that the forward ran on this very thread: then no other is meant.
    if (!forward_threads_) forward_threads_.emplace(trace_, timeline_, processes_);
    const uint32_t told = forward_threads_->track_of(host);
    if (told == own_track) return kNone;
    return told == kNone && !several ? only : told;
  }

  // Autograd's own threads: its engine runs there, never inside a range or step of that thread. Ranges that
  // such a thread does have come from hooks (a collective's).
  void find_backward_threads(const Ranges& ranges) {
    std::vector<bool> is_module_range(ranges.source == ForwardSource::module ? trace_.size() : 0, false);
    const auto is_range = [&](EventId event) {
      return trace_.kind[event] == EventKind::annotation ||
             (!is_module_range.empty() && is_module_range[event]);
    };
    if (!is_module_range.empty())
      for (const EventId range : ranges.events)
        is_module_range[range] = has_ranges_[trace_.track[range]] = true;
    std::vector<bool> is_engine(trace_.strings.size());
    for (trace::StringId id = 0; id < trace_.strings.size(); ++id)
      is_engine[id] = trace_.strings.view(id).substr(0, kEngine.size()) == kEngine;
    std::vector<bool> has_step(trace_.tracks.size(), false), inside_range(trace_.tracks.size(), false);
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const uint32_t track = trace_.track[i];
      const EventKind kind = trace_.kind[i];
      if (kind == EventKind::annotation || kind == EventKind::step) has_ranges_[track] = true;
      if (kind == EventKind::step) has_step[track] = true;
      if (kind != EventKind::op || !is_engine[trace_.name[i]]) continue;
      is_backward_[track] = true;
      for (EventId at = timeline_.parent[i]; at != kNone && !inside_range[track]; at = timeline_.parent[at])
        inside_range[track] = is_range(at);
    }
    for (std::size_t t = 0; t < trace_.tracks.size(); ++t)
      if (has_step[t] || inside_range[t]) is_backward_[t] = false;
  }

  const Trace& trace_;
  const Timeline& timeline_;
  const Processes& processes_;
  std::vector<std::vector<OpenRange>> open_;  // by process
  std::vector<bool> has_ranges_;              // by track: any annotation or step
  std::vector<bool> is_backward_;             // by track
  std::optional<ForwardThreads> forward_threads_;
  std::vector<std::size_t> placed_;
};

// Of each thread, ranges that start while kDeepestRanges others are open.
void leave_out_deep(const Trace& trace, Ranges& ranges) {
  using Ends = std::priority_queue<Ns, std::vector<Ns>, std::greater<>>;
  std::vector<Ends> open(trace.tracks.size());
  ranges.too_deep = std::erase_if(ranges.events, [&](EventId range) {
    Ends& ends = open[trace.track[range]];
    while (!ends.empty() && ends.top() < trace.start[range]) ends.pop();
    if (ends.size() >= kDeepestRanges) return true;
    ends.push(trace.end(range));
    return false;
  });
}

}  // namespace

std::string_view name_of(ForwardSource source) {
  switch (source) {
    case ForwardSource::annotation:
      return "annotation";
    case ForwardSource::step:
      return "step";
    case ForwardSource::module:
      return "module";
    case ForwardSource::repetition:
      return "repetition";
    case ForwardSource::graph_replay:
      return "graph replay";
    case ForwardSource::whole_trace:
      break;
  }
  return "whole trace";
}

Ranges find_ranges(const Trace& trace, const Timeline& timeline) {
  Ranges ranges;
  const auto collect = [&](EventKind kind) {
    for (std::size_t i = 0; i < trace.size(); ++i)
      if (trace.kind[i] == kind) ranges.events.push_back(static_cast<EventId>(i));
  };
  collect(EventKind::annotation);
  if (!ranges.events.empty()) {
    ranges.source = ForwardSource::annotation;
  } else {
    collect(EventKind::step);
    if (!ranges.events.empty()) ranges.source = ForwardSource::step;
  }
  if (ranges.events.empty()) {
    ranges.events = find_module_ranges(trace, timeline);
    if (!ranges.events.empty()) ranges.source = ForwardSource::module;
  }
  std::vector<uint32_t> scratch;
  natural_sort(std::span<EventId>(ranges.events), scratch, [&trace](EventId a, EventId b) {
    if (trace.start[a] != trace.start[b]) return trace.start[a] < trace.start[b];
    return trace.duration[a] != trace.duration[b] ? trace.duration[a] > trace.duration[b] : a < b;
  });
  leave_out_deep(trace, ranges);
  return ranges;
}

void place_in_ranges(const Trace& trace, const Timeline& timeline, const Processes& processes,
                     const Ranges& ranges, const std::vector<Moment>& moments,
                     const std::function<void(std::size_t range, EventId subject)>& emit) {
  Placer placer(trace, timeline, processes, ranges);
  std::size_t next = 0;
  for (const Moment& moment : moments) {
    const Ns time = trace.start[moment.host];
    for (; next < ranges.events.size() && trace.start[ranges.events[next]] <= time; ++next)
      placer.open(next, ranges.events[next]);
    for (const std::size_t range : placer.place(moment.host)) emit(range, moment.subject);
  }
}

}  // namespace hunch::analysis
