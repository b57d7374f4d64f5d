// The partition is made by construction: busy intervals first, then the rest, cut at the moments where the
// cause changes; see accounting.h.
#include "hunch/analysis/accounting.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

struct Interval {
  Ns start, end;
};

// Joins intervals that come by start: what is kept is disjoint. Work that took no time stays, unless it
// touches other work: it ends a gap.
void join(std::vector<Interval>& intervals, Interval next) {
  if (!intervals.empty() && next.start <= intervals.back().end)
    intervals.back().end = std::max(intervals.back().end, next.end);
  else
    intervals.push_back(next);
}

class Accountant {
 public:
  Accountant(const Analysis& analysis, const ForwardRun& run)
      : analysis_(analysis), trace_(*analysis.trace), run_(run) {}

  Accounting make() {
    if (!find_window()) return result_;
    by_start_ = run_.work;
    const auto earlier = [this](EventId a, EventId b) {
      return trace_.start[a] != trace_.start[b] ? trace_.start[a] < trace_.start[b] : a < b;
    };
    // Launch order, which mostly is the device's own.
    if (!std::is_sorted(by_start_.begin(), by_start_.end(), earlier))
      std::sort(by_start_.begin(), by_start_.end(), earlier);
    std::vector<Interval> own;
    own.reserve(by_start_.size());
    for (const EventId work : by_start_) join(own, {trace_.start[work], trace_.end(work)});
    find_others();

    Ns at = result_.start;
    for (const Interval& busy : own) {
      fill_gap(at, busy.start);
      add(Part::busy, busy.start, busy.end, kNone);
      at = busy.end;
    }
    fill_gap(at, result_.end);
    return std::move(result_);
  }

  // Sets the whole's start and end; false where the run has neither a range nor work.
  bool find_window() {
    std::optional<Ns> start, end;
    const auto include = [&](Ns from, Ns to) {
      start = start ? std::min(*start, from) : from;
      end = end ? std::max(*end, to) : to;
    };
    if (run_.range != kNone) {
      include(trace_.start[run_.range], trace_.end(run_.range));
    } else if (run_.host_start != INT64_MIN) {
      include(run_.host_start, run_.host_end);
    } else {
      for (std::size_t i = 0; i < trace_.size(); ++i) {
        const EventKind kind = trace_.kind[i];
        if (kind == EventKind::op || kind == EventKind::python_frame || trace::is_api_call(kind))
          include(trace_.start[i], trace_.start[i] + trace_.duration[i]);
      }
    }
    for (const EventId work : run_.work) include(trace_.start[work], trace_.end(work));
    if (!start) return false;
    result_.start = *start;
    result_.end = *end;
    return true;
  }
  Ns whole() const { return result_.whole(); }

 private:
  void add(Part part, Ns start, Ns end, EventId next) {
    if (start >= end) return;
    auto& slices = result_.slices;
    result_.total[static_cast<std::size_t>(part)] += end - start;
    if (!slices.empty() && slices.back().part == part && slices.back().next == next &&
        slices.back().end == start)
      slices.back().end = end;
    else
      slices.push_back({part, start, end, next});
  }

  // [start, end) in which none of the run's own work runs.
  void fill_gap(Ns start, Ns end) {
    if (start >= end) return;
    while (next_ < by_start_.size() && trace_.start[by_start_[next_]] < end) ++next_;
    const EventId next = next_ < by_start_.size() ? by_start_[next_] : kNone;
    Ns at = start;
    for (; next_other_ < others_.size() && others_[next_other_].start < end; ++next_other_) {
      const Interval other = others_[next_other_];
      if (other.end > at) {
        idle(at, std::max(at, other.start), next);
        add(Part::busy_other, std::max(at, other.start), std::min(end, other.end), kNone);
        at = std::min(end, other.end);
      }
      if (other.end > end) break;  // it goes on into what follows
    }
    idle(at, end, next);
  }

  // Everything that ran on the run's devices in its window. In the gaps of its own work it is others'.
  void find_others() {
    std::vector<int64_t> devices;  // few
    const auto is_own = [&devices](int64_t device) {
      return std::find(devices.begin(), devices.end(), device) != devices.end();
    };
    for (const EventId work : run_.work)
      if (const int64_t device = device_of(work); !is_own(device)) devices.push_back(device);
    const auto& order = analysis_.timeline.device_order;
    const auto& reach = analysis_.timeline.device_reach;
    auto i =
        static_cast<std::size_t>(std::upper_bound(reach.begin(), reach.end(), result_.start) - reach.begin());
    for (; i < order.size() && trace_.start[order[i]] < result_.end; ++i) {
      const EventId work = order[i];
      if (trace_.end(work) <= result_.start || (!devices.empty() && !is_own(device_of(work)))) continue;
      join(others_, {trace_.start[work], trace_.end(work)});
    }
  }

  // The device's number; work that does not tell it counts as of one device.
  int64_t device_of(EventId work) const {
    const auto* detail = trace_.device_detail(work);
    return detail == nullptr ? -1 : detail->device;
  }

  // [start, end) in which no device worked, before `next` (kNone: after the run's last).
  void idle(Ns start, Ns end, EventId next) {
    if (start >= end) return;
    if (next == kNone) {
      // The thread of the range may still wait for the device; else the run is over but for the host.
      const bool named = run_.range != kNone;
      host_time(start, end, named ? trace_.track[run_.range] : run_.host_track, Part::after_work, kNone);
      return;
    }
    const EventId call = analysis_.timeline.launch[next];
    if (call == kNone) {
      add(Part::unknown, start, end, next);
      return;
    }
    const Ns launch_start = std::clamp(trace_.start[call], start, end);
    const Ns launch_end = std::clamp(trace_.end(call), start, end);
    host_time(start, launch_start, trace_.track[call], Part::wait_host, next);
    add(Part::wait_launch, launch_start, launch_end, next);
    add(Part::wait_device, launch_end, end, next);
  }

  // Splits [start, end) by whether the thread was in a synchronizing call.
  void host_time(Ns start, Ns end, uint32_t track, Part otherwise, EventId next) {
    if (start >= end) return;
    Ns at = start;
    if (track != kNone) {
      for (const Interval& wait : waits_in(track, start, end)) {
        add(otherwise, at, wait.start, next);
        add(Part::wait_sync, wait.start, wait.end, next);
        at = wait.end;
      }
    }
    add(otherwise, at, end, next);
  }

  std::vector<Interval> waits_in(uint32_t track, Ns start, Ns end) const {
    const auto& waits = analysis_.timeline.waits;  // per track they do not nest: later starts have later ends
    auto wait = std::partition_point(waits.begin(), waits.end(), [&](EventId each) {
      return trace_.track[each] != track ? trace_.track[each] < track : trace_.end(each) <= start;
    });
    std::vector<Interval> found;
    for (; wait != waits.end() && trace_.track[*wait] == track && trace_.start[*wait] < end; ++wait)
      join(found, {std::max(start, trace_.start[*wait]), std::min(end, trace_.end(*wait))});
    return found;
  }

  const Analysis& analysis_;
  const Trace& trace_;
  const ForwardRun& run_;
  Accounting result_;
  std::vector<EventId> by_start_;
  std::size_t next_ = 0;
  std::vector<Interval> others_;
  std::size_t next_other_ = 0;
};

}  // namespace

std::string_view name_of(Part part) {
  switch (part) {
    case Part::busy:
      return "busy";
    case Part::busy_other:
      return "busy_other";
    case Part::wait_host:
      return "wait_host";
    case Part::wait_sync:
      return "wait_sync";
    case Part::wait_launch:
      return "wait_launch";
    case Part::wait_device:
      return "wait_device";
    case Part::after_work:
      return "after_work";
    case Part::unknown:
      break;
  }
  return "unknown";
}

std::string_view explanation_of(Part part) {
  switch (part) {
    case Part::busy:
      return "the device worked for this forward";
    case Part::busy_other:
      return "the device worked for something else, mostly the forward before";
    case Part::wait_host:
      return "the device waited: the host had not come to the next launch";
    case Part::wait_sync:
      return "the device waited while the host waited for the device";
    case Part::wait_launch:
      return "the device waited while the host was in the launch call";
    case Part::wait_device:
      return "the device had work launched and had not started it";
    case Part::after_work:
      return "the device had done all work of this forward";
    case Part::unknown:
      break;
  }
  return "the device was idle before work whose launch the trace lacks";
}

Accounting account(const Analysis& analysis, const ForwardRun& run) {
  return Accountant(analysis, run).make();
}

Ns wall_ns(const Analysis& analysis, const ForwardRun& run) {
  Accountant accountant(analysis, run);
  return accountant.find_window() ? accountant.whole() : 0;
}

}  // namespace hunch::analysis
