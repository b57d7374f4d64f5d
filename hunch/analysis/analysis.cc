// Puts the pieces together: timeline, kernel facts, ranges, and the counts of each run. See analysis.h.
#include "hunch/analysis/analysis.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "hunch/analysis/attention_ops.h"
#include "hunch/analysis/memory_peaks.h"
#include "hunch/analysis/natural_sort.h"
#include "hunch/analysis/unnamed_forwards.h"
#include "hunch/analysis/work_sequence.h"
#include "hunch/base/thread_pool.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

bool is_range(EventKind kind) { return kind == EventKind::annotation || kind == EventKind::step; }

// Calls visit(op) for the ops around a device event's launch, innermost first, up to the innermost range
// that holds any.
template <class Visit>
void visit_ops(const Trace& trace, const Timeline& timeline, EventId device_event, const Visit& visit) {
  bool any = false;
  for (EventId at = timeline.launch[device_event]; at != kNone; at = timeline.parent[at]) {
    if (any && is_range(trace.kind[at])) return;
    if (trace.kind[at] != EventKind::op) continue;
    any = true;
    visit(at);
  }
}

class Analyzer {
 public:
  Analyzer(const Trace& trace, int threads)
      : trace_(trace), threads_(threads), processes_(number_processes(trace)) {}

  Analysis analyze() {
    analysis_.trace = &trace_;
    analysis_.timeline = build_timeline(trace_, threads_);
    // Each of these needs the timeline and nothing of the others.
    Ranges ranges;
    std::optional<BackendCollector> collector;
    const auto forwards = [&] {
      ranges = find_ranges(trace_, analysis_.timeline);
      analysis_.too_deep_ranges = ranges.too_deep;
      if (ranges.source == ForwardSource::whole_trace)
        take_unnamed();
      else
        take_ranges(ranges);
      const MemoryPeaks memory(trace_, processes_);
      for (Forward& forward : analysis_.forwards)
        for (ForwardRun& run : forward.runs) measure(run, memory);
    };
    const auto facts = [&] {
      gather_facts();
      collector.emplace(analysis_);
    };
    const auto chains = [&] {
      analysis_.chains = OpChains(trace_, analysis_.timeline);
      analysis_.graphs = GraphReplays(trace_, analysis_.timeline);
    };
    base::run_tasks(threads_, {forwards, facts, chains});
    name_backends(ranges, *collector);
    return std::move(analysis_);
  }

 private:
  void gather_facts() {
    for (const EventId work : analysis_.timeline.device_order) {
      const trace::StringId name = trace_.name[work];
      if (analysis_.facts.contains(name)) continue;
      KernelFacts facts = kernel_facts(trace_.strings.view(name));
      if (trace_.kind[work] == EventKind::memcpy) facts.family = Family::memcpy;
      if (trace_.kind[work] == EventKind::memset) facts.family = Family::memset;
      analysis_.facts.set(name, std::move(facts));
    }
  }

  // Launch order: by start of the launch call; the many kernels of one call by their own start.
  std::vector<Moment> launched_work() const {
    std::vector<EventId> order;
    for (const EventId work : analysis_.timeline.device_order)
      if (analysis_.timeline.launch[work] != kNone) order.push_back(work);
    std::vector<uint32_t> scratch;
    natural_sort(std::span<EventId>(order), scratch, [this](EventId a, EventId b) {
      const EventId call_a = analysis_.timeline.launch[a], call_b = analysis_.timeline.launch[b];
      if (call_a != call_b)
        return trace_.start[call_a] != trace_.start[call_b] ? trace_.start[call_a] < trace_.start[call_b]
                                                            : call_a < call_b;
      return trace_.start[a] != trace_.start[b] ? trace_.start[a] < trace_.start[b] : a < b;
    });
    std::vector<Moment> moments;
    moments.reserve(order.size());
    for (const EventId work : order) moments.push_back({analysis_.timeline.launch[work], work});
    return moments;
  }

  void take_ranges(const Ranges& ranges) {
    std::unordered_map<trace::StringId, std::size_t> by_name;
    for (const EventId range : ranges.events) {
      std::size_t forward = 0;
      if (ranges.source != ForwardSource::step) {
        forward = by_name.emplace(trace_.name[range], analysis_.forwards.size()).first->second;
      }
      if (forward == analysis_.forwards.size()) {
        analysis_.forwards.emplace_back();
        analysis_.forwards.back().source = ranges.source;
        analysis_.forwards.back().range =
            ranges.source == ForwardSource::step ? "ProfilerStep" : std::string(trace_.name_of(range));
      }
      place_of_.emplace_back(forward, analysis_.forwards[forward].runs.size());
      ForwardRun& run = analysis_.forwards[forward].runs.emplace_back();
      run.range = range;
      run.host_ns = trace_.duration[range];
    }
    std::vector<bool> attributed(trace_.size(), false);
    place_in_ranges(trace_, analysis_.timeline, processes_, ranges, launched_work(),
                    [&](std::size_t range, EventId work) {
                      const auto& place = place_of_[range];
                      analysis_.forwards[place.first].runs[place.second].work.push_back(work);
                      attributed[work] = true;
                    });
    for (const EventId work : analysis_.timeline.device_order)
      if (!attributed[work]) analysis_.unattributed.push_back(work);
  }

  // Without ranges the device's own sequence tells the forwards or, where it does not, all device work of the
  // trace is one forward; work whose launch the trace lacks goes in by its own start. Only what was launched
  // before the recording began stays out: work older than every host event, or with a correlation below that
  // of every call.
  void take_unnamed() {
    Ns host_start = INT64_MAX, host_end = INT64_MIN;
    uint64_t first_correlation = UINT64_MAX;
    bool any_call = false;
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const EventKind kind = trace_.kind[i];
      const bool call = trace::is_api_call(kind);
      if (!call && kind != EventKind::op && kind != EventKind::python_frame) continue;
      host_start = std::min(host_start, trace_.start[i]);
      host_end = std::max(host_end, trace_.start[i] + trace_.duration[i]);
      any_call = any_call || call;
      if (call && trace_.correlation[i] != 0)
        first_correlation = std::min(first_correlation, trace_.correlation[i]);
    }
    const Timeline& timeline = analysis_.timeline;
    std::vector<EventId> work;
    for (const EventId each : timeline.device_order) {
      const bool before = timeline.launch[each] == kNone && any_call &&
                          (trace_.start[each] < host_start ||
                           (trace_.correlation[each] != 0 && trace_.correlation[each] < first_correlation));
      if (!before) work.push_back(each);
    }
    sort_by_launch(trace_, timeline, work);
    analysis_.forwards = find_unnamed_forwards(trace_, timeline, processes_, work);
    if (analysis_.forwards.empty()) {
      Forward& forward = analysis_.forwards.emplace_back();
      forward.range = "whole trace";
      forward.source = ForwardSource::whole_trace;
      ForwardRun& run = forward.runs.emplace_back();
      if (host_end > host_start) run.host_ns = host_end - host_start;
      run.work = std::move(work);
    }

    std::vector<bool> attributed(trace_.size(), false);
    for (const Forward& forward : analysis_.forwards)
      for (const ForwardRun& run : forward.runs)
        for (const EventId each : run.work) attributed[each] = true;
    for (const EventId each : timeline.device_order)
      if (!attributed[each]) analysis_.unattributed.push_back(each);
  }

  void measure(ForwardRun& run, const MemoryPeaks& memory) const {
    std::vector<std::pair<Ns, Ns>> busy;
    busy.reserve(run.work.size());
    for (const EventId work : run.work) {
      if (trace_.kind[work] == EventKind::kernel) ++run.kernels;
      if (trace_.kind[work] == EventKind::memcpy) ++run.memcpys;
      if (trace_.kind[work] == EventKind::memset) ++run.memsets;
      run.device_ns += trace_.duration[work];
      busy.emplace_back(trace_.start[work], trace_.end(work));
    }
    std::sort(busy.begin(), busy.end());
    if (!busy.empty()) {
      Ns reach = busy.front().first;
      for (const auto& [start, end] : busy) {
        run.busy_ns += std::max<Ns>(0, end - std::max(start, reach));
        reach = std::max(reach, end);
      }
      run.device_span_ns = reach - busy.front().first;
    }
    if (run.range != kNone)
      run.peak_bytes = memory.peak(processes_.of_track[trace_.track[run.range]], trace_.start[run.range],
                                   trace_.end(run.range));
    else if (run.host_start == INT64_MIN)
      run.peak_bytes = memory.whole_peak();
    else if (run.host_track != kNone)
      run.peak_bytes = memory.peak(processes_.of_track[run.host_track], run.host_start, run.host_end);
  }

  void name_backends(const Ranges& ranges, const BackendCollector& collector) {
    std::vector<std::vector<EventId>> ops(analysis_.forwards.size());
    if (collector.any_attention_op()) {
      std::vector<EventId> called;
      for (std::size_t i = 0; i < trace_.size(); ++i)
        if (trace_.kind[i] == EventKind::op && !collector.backend_of(trace_.name[i]).empty())
          called.push_back(static_cast<EventId>(i));
      if (analysis_.forwards[0].source == ForwardSource::whole_trace) {
        ops[0] = std::move(called);
      } else if (ranges.source == ForwardSource::whole_trace) {
        ops = launching_ops(collector);
      } else {
        std::stable_sort(called.begin(), called.end(),
                         [this](EventId a, EventId b) { return trace_.start[a] < trace_.start[b]; });
        std::vector<Moment> moments;
        for (const EventId op : called) moments.push_back({op, op});
        place_in_ranges(trace_, analysis_.timeline, processes_, ranges, moments,
                        [&](std::size_t range, EventId op) { ops[place_of_[range].first].push_back(op); });
      }
    }
    for (std::size_t i = 0; i < analysis_.forwards.size(); ++i)
      analysis_.forwards[i].backend = collector.backend(analysis_.forwards[i], ops[i]);
  }

  // By forward: the ops that tell a backend around the launches of its work.
  std::vector<std::vector<EventId>> launching_ops(const BackendCollector& collector) const {
    std::vector<std::vector<EventId>> ops(analysis_.forwards.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (const ForwardRun& run : analysis_.forwards[i].runs)
        for (const EventId work : run.work)
          visit_ops(trace_, analysis_.timeline, work, [&](EventId op) {
            if (!collector.backend_of(trace_.name[op]).empty()) ops[i].push_back(op);
          });
      std::sort(ops[i].begin(), ops[i].end());
      ops[i].erase(std::unique(ops[i].begin(), ops[i].end()), ops[i].end());
    }
    return ops;
  }

  const Trace& trace_;
  const int threads_;
  const Processes processes_;
  Analysis analysis_;
  std::vector<std::pair<std::size_t, std::size_t>> place_of_;  // of each range: forward, run
};

}  // namespace

void FactsTable::set(trace::StringId name, KernelFacts facts) {
  if (name >= index_.size()) index_.resize(name + 1, 0);
  if (index_[name] == 0) {
    index_[name] = static_cast<uint32_t>(facts_.size());
    facts_.push_back(std::move(facts));
  } else {
    facts_[index_[name]] = std::move(facts);
  }
}

bool Analysis::lies_in(const ForwardRun& run, EventId host) const {
  if (run.range != kNone)
    return trace->track[host] == trace->track[run.range] && trace->start[host] >= trace->start[run.range] &&
           trace->start[host] < trace->end(run.range);
  return (run.host_track == kNone || trace->track[host] == run.host_track) &&
         trace->start[host] >= run.host_start && trace->start[host] < run.host_end;
}

std::string_view Analysis::outer_op(EventId device_event) const {
  const auto names = chains.names(chains.of(device_event));
  return names.empty() ? std::string_view{} : trace->strings.view(names.front());
}

std::string_view Analysis::inner_op(EventId device_event) const {
  const auto names = chains.names(chains.of(device_event));
  return names.empty() ? std::string_view{} : trace->strings.view(names.back());
}

Analysis analyze(const Trace& trace, int threads) { return Analyzer(trace, threads).analyze(); }

}  // namespace hunch::analysis
