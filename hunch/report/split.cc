// A run's wall time and device work, split up: the wall time by what it went into, the work by op, by layer
// or by run.
//
// In:  an analysis and one of its forwards. Out: rows that add up to the run, to the nanosecond: each part is
// a
//      difference of whole nanoseconds, nothing is rounded or shared out.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "hunch/analysis/accounting.h"
#include "hunch/analysis/layers.h"
#include "hunch/report/report.h"

namespace hunch::report {
namespace {

using analysis::Accounting;
using analysis::Analysis;
using analysis::EventId;
using analysis::Forward;
using analysis::ForwardRun;
using analysis::Part;
using trace::EventKind;
using trace::Trace;

// Time in which any of the run's work of these kinds ran, overlaps once; and the sum of its durations.
struct Covered {
  Ns once = 0, sum = 0;
};
Covered covered(const Trace& trace, const ForwardRun& run, std::initializer_list<EventKind> kinds) {
  std::vector<std::pair<Ns, Ns>> intervals;
  Covered result;
  for (const EventId event : run.work) {
    if (std::find(kinds.begin(), kinds.end(), trace.kind[event]) == kinds.end()) continue;
    intervals.emplace_back(trace.start[event], trace.end(event));
    result.sum += trace.duration[event];
  }
  std::sort(intervals.begin(), intervals.end());
  Ns reached = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    if (end > reached) result.once += end - std::max(start, reached);
    reached = std::max(reached, end);
  }
  return result;
}

// The run whose wall time is the (lower) median; its accounting.
struct Median {
  std::size_t run = 0;
  Accounting accounting;
};
Median median_run(const Analysis& analysis, const Forward& forward) {
  std::vector<std::pair<Ns, std::size_t>> walls;
  for (std::size_t i = 0; i < forward.runs.size(); ++i)
    walls.emplace_back(analysis::wall_ns(analysis, forward.runs[i]), i);
  std::sort(walls.begin(), walls.end());
  Median median;
  median.run = walls[(walls.size() - 1) / 2].second;
  median.accounting = analysis::account(analysis, forward.runs[median.run]);
  return median;
}

void count(const Trace& trace, EventId event, PerRow& row) {
  if (trace.kind[event] == EventKind::memcpy)
    ++row.memcpy;
  else if (trace.kind[event] == EventKind::memset)
    ++row.memset;
  else
    ++row.kernels;
  row.device_ns += trace.duration[event];
}

// The event of the op that outer_op() names, inside the run; kNone where no op launched the work.
EventId outer_event(const Analysis& analysis, const ForwardRun& run, EventId event) {
  const Trace& trace = *analysis.trace;
  const std::string_view name = analysis.outer_op(event);
  if (name.empty()) return analysis::kNone;
  EventId found = analysis::kNone;
  for (const EventId op : analysis::op_stack(trace, analysis.timeline, event)) {
    if (trace.name_of(op) != name) continue;
    if (found == analysis::kNone) found = op;
    if (run.range == analysis::kNone || trace.start[op] >= trace.start[run.range]) return op;
  }
  return found;
}

std::vector<PerRow> by_op(const Analysis& analysis, const ForwardRun& run) {
  struct Group {
    PerRow row;
    std::set<EventId> calls;
  };
  std::map<std::string_view, std::size_t> index;
  std::vector<Group> groups;
  for (const EventId event : run.work) {
    const std::string_view op = analysis.outer_op(event);
    const auto [at, fresh] = index.try_emplace(op, groups.size());
    if (fresh) {
      groups.emplace_back();
      groups.back().row.name = std::string(op);
    }
    Group& group = groups[at->second];
    count(*analysis.trace, event, group.row);
    const EventId call = outer_event(analysis, run, event);
    if (call != analysis::kNone) group.calls.insert(call);
  }
  std::vector<PerRow> rows;
  for (Group& group : groups) {
    if (!group.calls.empty()) group.row.calls = static_cast<int64_t>(group.calls.size());
    rows.push_back(std::move(group.row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PerRow& a, const PerRow& b) { return a.device_ns > b.device_ns; });
  return rows;
}

// Shorter than analysis::explanation_of: for a cell.
std::string_view clause_of(Part part) {
  switch (part) {
    case Part::busy:
      return "work of this forward";
    case Part::busy_other:
      return "work of others, mostly the forward before";
    case Part::wait_host:
      return "idle: the host was not yet at the launch";
    case Part::wait_sync:
      return "idle: the host waited for the device";
    case Part::wait_launch:
      return "idle: the host was in the launch call";
    case Part::wait_device:
      return "idle: launched and not yet started";
    case Part::after_work:
      return "idle: all work of this forward was done";
    case Part::unknown:
      break;
  }
  return "idle: the trace lacks the next work's launch";
}

}  // namespace

std::string_view name_of(Per per) {
  switch (per) {
    case Per::op:
      return "op";
    case Per::layer:
      return "layer";
    case Per::step:
      return "step";
    case Per::none:
      break;
  }
  return "none";
}

std::optional<AccountingRow> accounting_row(const Analysis& analysis, const Forward& forward) {
  if (forward.runs.empty()) return std::nullopt;
  const Trace& trace = *analysis.trace;
  const Median median = median_run(analysis, forward);
  if (median.accounting.whole() == 0) return std::nullopt;
  const ForwardRun& run = forward.runs[median.run];
  const Covered kernels = covered(trace, run, {EventKind::kernel});
  const Covered copies = covered(trace, run, {EventKind::memcpy});
  const Covered memsets = covered(trace, run, {EventKind::memset});
  const Covered no_memsets = covered(trace, run, {EventKind::kernel, EventKind::memcpy});
  const Ns busy = median.accounting.of(Part::busy);
  AccountingRow row;
  row.run = static_cast<int64_t>(median.run) + 1;
  row.wall_ns = median.accounting.whole();
  row.kernel_sum_ns = kernels.sum;
  row.memcpy_sum_ns = copies.sum;
  row.memset_sum_ns = memsets.sum;
  row.overlap_ns = kernels.sum + copies.sum + memsets.sum - busy;
  row.parts.push_back({"kernel", "kernels ran", kernels.once});
  row.parts.push_back({"memcpy", "copies, no kernel beside them", no_memsets.once - kernels.once});
  row.parts.push_back({"memset", "memsets, nothing beside them", busy - no_memsets.once});
  for (std::size_t i = 0; i < analysis::kParts; ++i) {
    const Part part = static_cast<Part>(i);
    if (part == Part::busy) continue;
    row.parts.push_back(
        {std::string(analysis::name_of(part)), std::string(clause_of(part)), median.accounting.of(part)});
  }
  for (const AccountingPart& part : row.parts) row.sum_ns += part.ns;
  return row;
}

void split(const Analysis& analysis, const Forward& forward, Per per, ForwardRow& row) {
  if (per == Per::none || forward.runs.empty()) return;
  const Trace& trace = *analysis.trace;
  if (per == Per::step) {
    for (const ForwardRun& run : forward.runs) {
      PerRow one;
      one.name = fmt::format("run {}", row.per.size() + 1);
      one.kernels = run.kernels;
      one.memcpy = run.memcpys;
      one.memset = run.memsets;
      one.device_ns = run.device_ns;
      one.host_ns = run.host_ns;
      one.busy_ns = run.busy_ns;
      row.per.push_back(std::move(one));
    }
    return;
  }
  const std::size_t median = median_run(analysis, forward).run;
  row.per_run = static_cast<int64_t>(median) + 1;
  if (per == Per::op) {
    row.per = by_op(analysis, forward.runs[median]);
    return;
  }
  const analysis::Layers layers = analysis::find_layers(analysis, forward.runs[median]);
  row.layers_by = std::string(analysis::name_of(layers.source));
  for (const analysis::Layer& layer : layers.rows) {
    PerRow one;
    one.name = layer.name;
    for (const EventId event : layer.work) count(trace, event, one);
    row.per.push_back(std::move(one));
  }
}

}  // namespace hunch::report
