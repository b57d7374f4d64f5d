// What is kept of one rank: unions of its device work by run, and its collectives. See the header; the
// judgement over ranks is in rank_waiting.cc.
#include "hunch/analysis/ranks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

#include "hunch/analysis/accounting.h"
#include "hunch/analysis/natural_sort.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

using Interval = std::pair<Ns, Ns>;

Ns covered(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  Ns sum = 0, reach = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    if (end <= reach) continue;
    sum += end - std::max(start, reach);
    reach = end;
  }
  return sum;
}

// Letters alone and small: "ncclDevKernel_AllReduce_Sum_f32_RING_LL" has "allreduce" in it, and so has
// "nccl:all_reduce".
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

std::string_view kind_in(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kKinds = {
      {{"allreduce", "all_reduce"},
       {"allgather", "all_gather"},
       {"reducescatter", "reduce_scatter"},
       {"alltoall", "all_to_all"}}};
  const std::string letters = letters_of(text);
  for (const auto& [word, kind] : kKinds)
    if (letters.find(word) != std::string::npos) return kind;
  return {};
}

// From the kernel's name, else from the ops and annotations around its launch: some libraries have one kernel
// for all collectives, and all-to-all is made of sends. Empty where neither tells.
std::string_view collective_of(const Analysis& analysis, EventId kernel) {
  const Trace& trace = *analysis.trace;
  if (const auto kind = kind_in(trace.name_of(kernel)); !kind.empty()) return kind;
  int levels = 0;
  for (EventId at = analysis.timeline.launch[kernel]; at != kNone && levels < 8; ++levels) {
    const bool says = trace.kind[at] == EventKind::op || trace.kind[at] == EventKind::annotation;
    // A range around a whole step may have any name: only the communication library's own count.
    const std::string_view name = trace.name_of(at);
    if (says && (name.starts_with("nccl:") || name.starts_with("rccl:") || name.starts_with("c10d::") ||
                 name.starts_with("_c10d_functional::")))
      if (const auto kind = kind_in(name); !kind.empty()) return kind;
    at = analysis.timeline.parent[at];
  }
  return {};
}

RankRun rank_run(const Analysis& analysis, const ForwardRun& run) {
  const Trace& trace = *analysis.trace;
  RankRun result;
  const Accounting accounting = account(analysis, run);
  result.wall_ns = accounting.whole();
  result.idle_ns = accounting.idle();
  std::vector<Interval> all, compute, communication;
  for (const EventId work : run.work) {
    const Interval interval = {trace.start[work], trace.end(work)};
    all.push_back(interval);
    const bool communicates =
        trace.kind[work] == EventKind::kernel && analysis.facts_of(work).family == Family::communication;
    (communicates ? communication : compute).push_back(interval);
    if (!communicates) continue;
    const auto kind = collective_of(analysis, work);
    if (kind.empty())
      ++result.other_communication;
    else
      result.collectives.push_back({kind, trace.start[work], trace.duration[work]});
  }
  result.compute_ns = covered(compute);
  result.communication_ns = covered(communication);
  result.exposed_ns = covered(all) - result.compute_ns;
  return result;
}

void measure(const Trace& trace, ForwardRun& run) {
  std::vector<Interval> busy;
  Ns first = INT64_MAX, last = INT64_MIN;
  for (const EventId work : run.work) {
    run.kernels += trace.kind[work] == EventKind::kernel ? 1 : 0;
    run.memcpys += trace.kind[work] == EventKind::memcpy ? 1 : 0;
    run.memsets += trace.kind[work] == EventKind::memset ? 1 : 0;
    run.device_ns += trace.duration[work];
    busy.emplace_back(trace.start[work], trace.end(work));
    first = std::min(first, trace.start[work]);
    last = std::max(last, trace.end(work));
  }
  run.busy_ns = covered(busy);
  if (!busy.empty()) run.device_span_ns = last - first;
}

}  // namespace

RankRange rank_range(const Analysis& analysis, const Forward& forward) {
  RankRange result;
  result.range = forward.range;
  result.runs.reserve(forward.runs.size());
  for (const ForwardRun& run : forward.runs) result.runs.push_back(rank_run(analysis, run));
  return result;
}

std::optional<Forward> steps_beside_ranges(const Analysis& analysis) {
  const Trace& trace = *analysis.trace;
  if (analysis.forwards.empty() || analysis.forwards.front().source != ForwardSource::annotation)
    return std::nullopt;
  Ranges steps;
  steps.source = ForwardSource::step;
  for (EventId event = 0; event < trace.size(); ++event)
    if (trace.kind[event] == EventKind::step) steps.events.push_back(event);
  if (steps.events.empty()) return std::nullopt;
  std::stable_sort(steps.events.begin(), steps.events.end(), [&](EventId a, EventId b) {
    return trace.start[a] != trace.start[b] ? trace.start[a] < trace.start[b]
                                            : trace.duration[a] > trace.duration[b];
  });
  const Timeline& timeline = analysis.timeline;
  std::vector<EventId> order;
  for (const EventId work : timeline.device_order)
    if (timeline.launch[work] != kNone) order.push_back(work);
  std::vector<uint32_t> scratch;
  natural_sort(std::span<EventId>(order), scratch, [&](EventId a, EventId b) {
    const EventId x = timeline.launch[a], y = timeline.launch[b];
    if (x != y) return trace.start[x] != trace.start[y] ? trace.start[x] < trace.start[y] : x < y;
    return trace.start[a] != trace.start[b] ? trace.start[a] < trace.start[b] : a < b;
  });
  std::vector<Moment> moments;
  moments.reserve(order.size());
  for (const EventId work : order) moments.push_back({timeline.launch[work], work});

  Forward forward;
  forward.range = "ProfilerStep";
  forward.source = ForwardSource::step;
  forward.runs.resize(steps.events.size());
  for (std::size_t i = 0; i < steps.events.size(); ++i) {
    forward.runs[i].range = steps.events[i];
    forward.runs[i].host_ns = trace.duration[steps.events[i]];
  }
  place_in_ranges(trace, timeline, number_processes(trace), steps, moments,
                  [&](std::size_t step, EventId work) { forward.runs[step].work.push_back(work); });
  for (ForwardRun& run : forward.runs) measure(trace, run);
  return forward;
}

}  // namespace hunch::analysis
