// Nesting by containment: each track's host events in order of start, longer first, against a stack of what
// is still open. See timeline.h for what holds.
#include "hunch/analysis/timeline.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>

#include "hunch/analysis/launch_links.h"
#include "hunch/analysis/natural_sort.h"
#include "hunch/base/large_pages.h"
#include "hunch/base/strings.h"
#include "hunch/base/thread_pool.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

bool is_host(EventKind kind) { return !trace::is_device_work(kind) && kind != EventKind::device_annotation; }

// Of events with the same start and end, the one that encloses the others in every profiler comes first.
int rank_of(EventKind kind) {
  switch (kind) {
    case EventKind::step:
      return 0;
    case EventKind::annotation:
      return 1;
    case EventKind::python_frame:
      return 2;
    case EventKind::op:
      return 3;
    case EventKind::runtime_call:
      return 4;
    case EventKind::driver_call:
      return 5;
    default:
      return 6;
  }
}

// Ends of python frames are often the profiler's own (frames still open when it stops, or cut late), so such
// a frame is cut to the event it starts in; a crossing op is believed and ends the nesting instead.
bool has_doubtful_end(EventKind kind) { return kind == EventKind::python_frame || rank_of(kind) == 6; }

struct Open {
  EventId event;
  Ns end;  // where it counts as closed; before the event's own end for a cut frame
};

class Nesting {
 public:
  Nesting(const Trace& trace, std::vector<EventId>& parent) : trace_(trace), parent_(parent) {}

  // `ids`: the host events of one track, by start, longer first.
  void nest(std::span<const EventId> ids) {
    open_.clear();
    open_ops_ = open_others_ = 0;
    for (const EventId id : ids) {
      const Ns end = trace_.end(id);
      Ns counted_end = end;
      while (!open_.empty()) {
        const Open top = open_.back();
        // NOLINTNEXTLINE(bugprone-branch-clone): two reasons, one of them with words of its own.
        if (!starts_inside(id, top)) {
          close_last();
        } else if (end <= top.end + kNestingSlack) {
          break;
        } else if (has_doubtful_end(trace_.kind[id])) {
          counted_end = top.end;
          break;
        } else {
          // A true crossing. Whatever starts later and fits into `top` fits into this event too, and closer.
          close_last();
        }
      }
      if (!open_.empty()) parent_[id] = open_.back().event;
      const bool op = trace_.kind[id] == EventKind::op;
      uint32_t& open = op ? open_ops_ : open_others_;
      if (open == (op ? kDeepestOps : kDeepestOthers)) continue;
      ++open;
      open_.push_back({id, counted_end});
    }
  }

 private:
  void close_last() {
    --(trace_.kind[open_.back().event] == EventKind::op ? open_ops_ : open_others_);
    open_.pop_back();
  }

  // An event that starts where `top` ends follows it, unless it takes no time at all. Of two that take no
  // time at one instant, the second is inside only where its kind says so: a call inside an op.
  bool starts_inside(EventId id, const Open& top) const {
    const Ns start = trace_.start[id];
    if (start != top.end) return start < top.end;
    if (trace_.duration[id] > 0) return false;
    if (trace_.duration[top.event] > 0) return true;
    return rank_of(trace_.kind[top.event]) < rank_of(trace_.kind[id]);
  }

  const Trace& trace_;
  std::vector<EventId>& parent_;
  std::vector<Open> open_;
  uint32_t open_ops_ = 0, open_others_ = 0;
};

// Of events with the same start and end, the outer one was numbered first.
bool encloses_first(const Trace& trace, EventId a, EventId b) {
  if (trace.start[a] != trace.start[b]) return trace.start[a] < trace.start[b];
  if (trace.duration[a] != trace.duration[b]) return trace.duration[a] > trace.duration[b];
  const int rank_a = rank_of(trace.kind[a]), rank_b = rank_of(trace.kind[b]);
  if (rank_a != rank_b) return rank_a < rank_b;
  const uint64_t id_a = trace.external_id[a], id_b = trace.external_id[b];
  if (trace.kind[a] == EventKind::op && id_a != id_b && id_a != 0 && id_b != 0) return id_a < id_b;
  return a < b;
}

void nest_all(const Trace& trace, Timeline& timeline) {
  // Group host events by track: a counting sort that keeps the rows' order.
  std::vector<std::size_t>& begin = timeline.host_begin;
  begin.assign(trace.tracks.size() + 1, 0);
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (is_host(trace.kind[i])) ++begin[trace.track[i] + 1];
  for (std::size_t t = 0; t < trace.tracks.size(); ++t) begin[t + 1] += begin[t];
  std::vector<EventId>& ids = timeline.host_order;
  base::assign_large(ids, begin.back(), kNone);
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (is_host(trace.kind[i])) ids[next[trace.track[i]]++] = static_cast<EventId>(i);

  const auto before = [&trace](EventId a, EventId b) { return encloses_first(trace, a, b); };
  std::vector<uint32_t> scratch;
  Nesting nesting(trace, timeline.parent);
  for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
    const std::span<EventId> of_track(ids.data() + begin[t], begin[t + 1] - begin[t]);
    natural_sort(of_track, scratch, before);
    nesting.nest(of_track);
  }
}

void order_device_work(const Trace& trace, Timeline& timeline) {
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace::is_device_work(trace.kind[i])) timeline.device_order.push_back(static_cast<EventId>(i));
  std::vector<uint32_t> scratch;
  natural_sort(std::span<EventId>(timeline.device_order), scratch, [&trace](EventId a, EventId b) {
    return trace.start[a] != trace.start[b] ? trace.start[a] < trace.start[b] : a < b;
  });
  timeline.device_reach.reserve(timeline.device_order.size());
  for (const EventId id : timeline.device_order) {
    const Ns end = trace.end(id);
    timeline.device_reach.push_back(
        timeline.device_reach.empty() ? end : std::max(end, timeline.device_reach.back()));
  }
}

// Calls of which the name says something: waits, and what happens once.
void find_told_calls(const Trace& trace, Timeline& timeline) {
  std::vector<uint8_t> told(trace.strings.size());
  constexpr uint8_t kWaits = 1, kOnce = 2;
  for (trace::StringId id = 0; id < trace.strings.size(); ++id) {
    const std::string_view name = trace.strings.view(id);
    told[id] = static_cast<uint8_t>((is_synchronizing_call(name) ? kWaits : 0) |
                                    (is_one_time_call(name) ? kOnce : 0));
  }
  const auto is_wait = [&](EventId id) {
    return trace::is_api_call(trace.kind[id]) && (told[trace.name[id]] & kWaits) != 0;
  };
  for (EventId id = 0; id < trace.size(); ++id) {
    if (!trace::is_api_call(trace.kind[id]) || told[trace.name[id]] == 0) continue;
    if ((told[trace.name[id]] & kOnce) != 0) timeline.one_time_calls.push_back(id);
    if (!is_wait(id)) continue;
    EventId at = timeline.parent[id];
    while (at != kNone && !is_wait(at)) at = timeline.parent[at];
    if (at == kNone) timeline.waits.push_back(id);
  }
  for (auto* calls : {&timeline.waits, &timeline.one_time_calls})
    std::sort(calls->begin(), calls->end(), [&trace](EventId a, EventId b) {
      if (trace.track[a] != trace.track[b]) return trace.track[a] < trace.track[b];
      return trace.start[a] != trace.start[b] ? trace.start[a] < trace.start[b] : a < b;
    });
}

}  // namespace

Timeline build_timeline(const Trace& trace, int threads) {
  Timeline timeline;
  const auto host = [&] {
    base::assign_large(timeline.parent, trace.size(), kNone);
    nest_all(trace, timeline);
    find_told_calls(trace, timeline);
  };
  const auto device = [&] {
    base::assign_large(timeline.launch, trace.size(), kNone);
    order_device_work(trace, timeline);
    timeline.unlinked = link_launches(trace, timeline.device_order, timeline.launch);
  };
  base::run_tasks(threads, {host, device});
  return timeline;
}

bool is_synchronizing_call(std::string_view name) {
  using base::contains;
  if (contains(name, "Synchronize")) return true;
  return contains(name, "Memcpy") && !contains(name, "Async") && !contains(name, "DtoD");
}

bool is_one_time_call(std::string_view name) {
  constexpr auto kCalls = std::to_array<std::string_view>(
      {"cuModuleLoad", "cuLibraryLoad", "cudaLibraryLoad", "cudaMalloc", "cuMemAlloc", "cuMemCreate",
       "hipModuleLoad", "hipMalloc", "cuLinkComplete", "nvrtcCompileProgram"});
  const bool known = std::any_of(kCalls.begin(), kCalls.end(),
                                 [&](std::string_view call) { return name.starts_with(call); });
  return known && !base::contains(name, "Async") && !base::contains(name, "Host");
}

std::vector<EventId> op_stack(const Trace& trace, const Timeline& timeline, EventId device_event) {
  std::vector<EventId> stack;
  EventId at = timeline.launch[device_event];
  while (at != kNone) {
    if (trace.kind[at] == EventKind::op) stack.push_back(at);
    at = timeline.parent[at];
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

EventId previous_op(const Trace& trace, const Timeline& timeline, EventId op) {
  const uint32_t track = trace.track[op];
  const auto first = timeline.host_order.begin() + static_cast<std::ptrdiff_t>(timeline.host_begin[track]);
  const auto last = timeline.host_order.begin() + static_cast<std::ptrdiff_t>(timeline.host_begin[track + 1]);
  const auto order = [&](EventId a, EventId b) { return encloses_first(trace, a, b); };
  const EventId parent = timeline.parent[op];
  EventId sibling = op;
  constexpr int kMostCalls = 16;
  for (int i = 0; i < kMostCalls; ++i) {
    const auto at = std::lower_bound(first, last, sibling, order);
    if (at == first) return kNone;
    // What comes right before lies within the sibling looked for, at some depth, or is the parent.
    sibling = *(at - 1);
    while (sibling != kNone && sibling != parent && timeline.parent[sibling] != parent)
      sibling = timeline.parent[sibling];
    if (sibling == kNone || sibling == parent) return kNone;
    if (trace.kind[sibling] == EventKind::op) return trace.end(sibling) <= trace.start[op] ? sibling : kNone;
  }
  return kNone;
}

EventId launching_op(const Trace& trace, const Timeline& timeline, EventId device_event) {
  EventId at = timeline.launch[device_event];
  while (at != kNone && trace.kind[at] != EventKind::op) at = timeline.parent[at];
  return at;
}

Processes number_processes(const Trace& trace) {
  Processes processes;
  std::unordered_map<std::string_view, uint32_t> numbers;
  for (const auto& track : trace.tracks) {
    const auto [found, added] = numbers.emplace(track.pid, processes.count);
    if (added) ++processes.count;
    processes.of_track.push_back(found->second);
  }
  return processes;
}

}  // namespace hunch::analysis
