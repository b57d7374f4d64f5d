// From an Analysis to plain data: forwards as rows with spreads over their runs, device work grouped by what
// makes it the same kernel, the sequence of the first run, evidence told in words, and the account of every
// device event. Nothing here draws, and nothing here is counted that the analysis did not count.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "hunch/report/report.h"

namespace hunch::report {
namespace {

using analysis::Analysis;
using analysis::EventId;
using analysis::Forward;
using analysis::ForwardRun;
using trace::DeviceDetail;
using trace::EventKind;
using trace::Trace;

std::string dims(const std::array<uint32_t, 3>& size) {
  if (size[0] == 0) return {};
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

std::string readable_name(const Analysis& analysis, EventId event) {
  const Trace& trace = *analysis.trace;
  if (trace::is_device_work(trace.kind[event])) {
    const std::string& readable = analysis.facts_of(event).readable;
    if (!readable.empty()) return readable;
  }
  return std::string(trace.name_of(event));
}

std::optional<OccupancyCell> occupancy_of(const Trace& trace, EventId event) {
  const DeviceDetail* detail = trace.device_detail(event);
  if (detail == nullptr || trace.kind[event] != EventKind::kernel) return std::nullopt;
  OccupancyCell cell;
  if (detail->reported_occupancy_pct >= 0) cell.reported_pct = detail->reported_occupancy_pct;
  if (const auto* device = trace.device(detail->device); device != nullptr) {
    if (const auto computed = analysis::compute_occupancy(*detail, *device)) {
      cell.theoretical_pct = computed->theoretical_pct;
      cell.grid_limited_pct = computed->grid_limited_pct;
      cell.limited_by = computed->limited_by;
    }
    const int32_t warp = device->warp_size, most = device->max_threads_per_multiprocessor;
    if (detail->driver_blocks >= 0 && warp > 0 && most > 0) {
      const int64_t threads = int64_t{detail->block[0]} * detail->block[1] * detail->block[2];
      const int64_t warps = (threads + warp - 1) / warp * detail->driver_blocks;
      cell.driver_pct = 100.0 * static_cast<double>(warps) * warp / most;
    }
  }
  if (!cell.reported_pct && !cell.theoretical_pct) return std::nullopt;
  return cell;
}

// What makes two device events of a forward the same row.
struct RowKey {
  trace::StringId name, outer_op, inner_op;
  EventKind kind;
  int32_t registers;
  int64_t shared_bytes;
  std::array<uint32_t, 3> grid, block;
  bool operator==(const RowKey&) const = default;
};

struct RowHash {
  std::size_t operator()(const RowKey& key) const {
    uint64_t hash = uint64_t{key.name} << 32 | key.outer_op;
    const auto mix = [&hash](uint64_t value) { hash = ((hash ^ value) * 0xD1B54A32D192ED03u) ^ hash >> 29; };
    mix(uint64_t{key.inner_op} << 8 | static_cast<uint8_t>(key.kind));
    mix(static_cast<uint64_t>(key.shared_bytes) << 9 | static_cast<uint32_t>(key.registers));
    mix(uint64_t{key.grid[0]} << 32 | key.grid[1]);
    mix(uint64_t{key.grid[2]} << 32 | key.block[0]);
    mix(uint64_t{key.block[1]} << 32 | key.block[2]);
    return hash ^ hash >> 32;
  }
};

RowKey key_of(const Analysis& analysis, EventId event) {
  static const DeviceDetail kNotSaid;
  const Trace& trace = *analysis.trace;
  const DeviceDetail* detail = trace.device_detail(event);
  if (detail == nullptr) detail = &kNotSaid;
  const auto ops = analysis.chains.names(analysis.chains.of(event));
  // An op without a name reads like none.
  const auto told = [&trace](trace::StringId op) {
    return trace.strings.view(op).empty() ? trace::kNone : op;
  };
  return {trace.name[event],
          ops.empty() ? trace::kNone : told(ops.front()),
          ops.empty() ? trace::kNone : told(ops.back()),
          trace.kind[event],
          detail->registers,
          detail->shared_bytes,
          detail->grid,
          detail->block};
}

bool is_launched(const Analysis& analysis, EventId event) {
  return analysis.timeline.launch[event] != trace::kNone;
}

KernelRow make_row(const Analysis& analysis, const Forward& forward, EventId event) {
  const Trace& trace = *analysis.trace;
  KernelRow row;
  row.range = forward.range;
  row.name = std::string(trace.name_of(event));
  row.readable = readable_name(analysis, event);
  row.family = std::string(analysis::name_of(analysis.facts_of(event).family));
  row.kind = std::string(trace::name_of(trace.kind[event]));
  row.op = std::string(analysis.outer_op(event));
  row.inner_op = std::string(analysis.inner_op(event));
  row.launched = is_launched(analysis, event);
  if (const DeviceDetail* detail = trace.device_detail(event)) {
    row.registers = detail->registers;
    row.shared_bytes = detail->shared_bytes;
    row.block = dims(detail->block);
    row.grid = dims(detail->grid);
  }
  row.occupancy = occupancy_of(trace, event);
  return row;
}

// The rows of one forward, and for each key its row.
struct Grouped {
  std::vector<KernelRow> rows;
  std::unordered_map<RowKey, std::size_t, RowHash> row_of;
};

// The median over `count` runs, of which those that `values` lacks have 0; none is negative.
int64_t median_with_zeros(std::vector<int64_t> values, std::size_t count) {
  const std::size_t zeros = count - values.size(), middle = (count - 1) / 2;
  if (middle < zeros) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle - zeros);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Grouped group(const Analysis& analysis, const Forward& forward) {
  // Of the runs that have some of it; room for each run of each row would grow with their product.
  struct PerRun {
    std::vector<int64_t> calls;
    std::vector<int64_t> time;
    std::size_t last_run = SIZE_MAX;
  };
  const Trace& trace = *analysis.trace;
  std::unordered_map<RowKey, std::size_t, RowHash> found;
  std::vector<KernelRow> rows;
  std::vector<PerRun> sums;
  for (std::size_t run = 0; run < forward.runs.size(); ++run) {
    for (const EventId event : forward.runs[run].work) {
      const auto [at, fresh] = found.try_emplace(key_of(analysis, event), rows.size());
      if (fresh) {
        rows.push_back(make_row(analysis, forward, event));
        sums.emplace_back();
      } else {
        rows[at->second].launched = rows[at->second].launched || is_launched(analysis, event);
      }
      PerRun& sum = sums[at->second];
      if (sum.last_run != run) {
        sum.last_run = run;
        sum.calls.push_back(0);
        sum.time.push_back(0);
      }
      ++sum.calls.back();
      sum.time.back() += trace.duration[event];
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].calls = median_with_zeros(std::move(sums[i].calls), forward.runs.size());
    rows[i].device_ns = median_with_zeros(std::move(sums[i].time), forward.runs.size());
  }
  // The most time first; ties keep the launch order.
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].device_ns > rows[b].device_ns; });
  std::vector<std::size_t> rank(rows.size());
  Grouped grouped;
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    grouped.rows.push_back(std::move(rows[order[i]]));
  }
  for (auto& [key, index] : found) index = rank[index];
  grouped.row_of = std::move(found);
  return grouped;
}

template <class Get>
Spread spread_over(const Forward& forward, Get get) {
  std::vector<int64_t> values;
  values.reserve(forward.runs.size());
  for (const ForwardRun& run : forward.runs) values.push_back(get(run));
  return spread_of(std::move(values));
}

std::vector<Step> steps_of(const Analysis& analysis, const Forward& forward, const Grouped& grouped,
                           std::size_t first_row) {
  std::vector<Step> steps;
  if (forward.runs.empty()) return steps;
  const Trace& trace = *analysis.trace;
  for (const EventId event : forward.runs.front().work) {
    Step step;
    step.kind = std::string(trace::name_of(trace.kind[event]));
    step.family = std::string(analysis::name_of(analysis.facts_of(event).family));
    step.op = std::string(analysis.outer_op(event));
    step.inner_op = std::string(analysis.inner_op(event));
    step.launched = is_launched(analysis, event);
    step.readable = readable_name(analysis, event);
    step.device_ns = trace.duration[event];
    step.event = trace.source_index[event];
    step.row = first_row + grouped.row_of.at(key_of(analysis, event));
    steps.push_back(std::move(step));
  }
  return steps;
}

struct Window {
  Ns first = 0;
  Ns last = 0;
};

Window window_of(const Trace& trace) {
  Window window;
  if (trace.size() == 0) return window;
  window = {trace.start[0], trace.end(0)};
  for (EventId event = 0; event < trace.size(); ++event) {
    window.first = std::min(window.first, trace.start[event]);
    window.last = std::max(window.last, trace.end(event));
  }
  return window;
}

std::string device_text(const Trace& trace) {
  if (trace.devices.empty()) return {};
  const trace::DeviceProperties& device = trace.devices.front();
  const std::size_t count = trace.devices.size();
  std::string text = device.name;
  if (device.has_sm())
    text += fmt::format("{}sm_{}{}{}", text.empty() ? "" : " (", device.compute_major, device.compute_minor,
                        text.empty() ? "" : ")");
  if (text.empty()) return count == 1 ? text : fmt::format("{} devices, not named", count);
  if (count > 1) text += fmt::format(" and {} more", count - 1);
  return text;
}

std::vector<Evidence> evidence_of(const Analysis& analysis, const std::vector<EventId>& events, Ns first) {
  const Trace& trace = *analysis.trace;
  std::vector<Evidence> evidence;
  for (const EventId event : events) {
    if (event >= trace.size()) continue;
    Evidence item;
    item.event = trace.source_index[event];
    item.kind = std::string(trace::name_of(trace.kind[event]));
    item.name = readable_name(analysis, event);
    if (trace::is_device_work(trace.kind[event])) item.op = std::string(analysis.outer_op(event));
    item.start_ns = trace.start[event] - first;
    item.duration_ns = trace.duration[event];
    evidence.push_back(std::move(item));
  }
  return evidence;
}

std::vector<int64_t> indices_of(const std::vector<Evidence>& evidence) {
  std::vector<int64_t> indices;
  for (const Evidence& item : evidence) indices.push_back(item.event);
  return indices;
}

// `first`: when the trace begins.
std::vector<FindingRow> rows_of(const Analysis& analysis,
                                const std::vector<analysis::rules::Finding>& findings, Ns first) {
  std::vector<FindingRow> rows;
  for (const auto& finding : findings) {
    FindingRow row;
    row.finding = finding;
    row.evidence = evidence_of(analysis, finding.events, first);
    row.events = indices_of(row.evidence);
    rows.push_back(std::move(row));
  }
  return rows;
}

Statistics statistics_of(const Analysis& analysis) {
  const Trace& trace = *analysis.trace;
  Statistics statistics;
  statistics.events = trace.stats.events;
  statistics.skipped = trace.stats.skipped;
  statistics.device_events = analysis.timeline.device_order.size();
  for (const EventId event : analysis.timeline.device_order) statistics.device_ns += trace.duration[event];
  statistics.unattributed_device_events = analysis.unattributed.size();
  for (const EventId event : analysis.unattributed)
    statistics.unattributed_device_ns += trace.duration[event];
  statistics.unlinked_device_events = analysis.timeline.unlinked;
  for (const auto& [reason, count] : trace.stats.reasons)
    statistics.skipped_reasons.emplace_back(reason, count);
  statistics.warnings = trace.stats.warnings;
  if (analysis.too_deep_ranges > 0)
    statistics.warnings.push_back(fmt::format(
        "{} ranges are no forwards here: at least {} of their thread are open around each, as ranges "
        "that never ended are",
        analysis.too_deep_ranges, analysis::kDeepestRanges));
  return statistics;
}

}  // namespace

Spread spread_of(std::vector<int64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[(values.size() - 1) / 2], values.back()};
}

ForwardRow forward_row(const Forward& forward) {
  ForwardRow row;
  row.range = forward.range;
  row.found_by = std::string(analysis::name_of(forward.source));
  row.runs = static_cast<int64_t>(forward.runs.size());
  row.kernels = spread_over(forward, [](const ForwardRun& run) { return run.kernels; });
  row.memcpy = spread_over(forward, [](const ForwardRun& run) { return run.memcpys; });
  row.memset = spread_over(forward, [](const ForwardRun& run) { return run.memsets; });
  row.device_ns = spread_over(forward, [](const ForwardRun& run) { return run.device_ns; });
  row.busy_ns = spread_over(forward, [](const ForwardRun& run) { return run.busy_ns; });
  row.host_ns = spread_over(forward, [](const ForwardRun& run) { return run.host_ns; });
  const bool all_peaks = std::all_of(forward.runs.begin(), forward.runs.end(),
                                     [](const ForwardRun& run) { return run.peak_bytes.has_value(); });
  if (all_peaks && !forward.runs.empty())
    row.peak_bytes = spread_over(forward, [](const ForwardRun& run) { return *run.peak_bytes; });
  row.backend = forward.backend;
  return row;
}

std::vector<KernelRow> kernel_rows(const Analysis& analysis, const Forward& forward) {
  return group(analysis, forward).rows;
}

std::string attention_text(const ExplainReport& report, const ForwardRow& forward) {
  if (!forward.backend.empty()) return forward.backend;
  for (const KernelRow& row : report.kernels)
    if (row.range == forward.range && row.family.starts_with("attention_"))
      return "of no known backend: " + row.readable;
  return "none recognised";
}

ExplainReport explain(const Analysis& analysis, const std::vector<analysis::rules::Finding>& findings,
                      Per per) {
  const Trace& trace = *analysis.trace;
  const Window window = window_of(trace);
  ExplainReport report;
  report.per = per;
  report.trace.source = trace.source;
  report.trace.format = trace.format;
  report.trace.device = device_text(trace);
  report.trace.events = trace.stats.events;
  report.trace.span_ns = window.last - window.first;
  for (const auto& [key, value] : trace.metadata) report.trace.metadata.emplace_back(key, value);
  for (const Forward& forward : analysis.forwards) {
    Grouped grouped = group(analysis, forward);
    ForwardRow row = forward_row(forward);
    row.sequence = steps_of(analysis, forward, grouped, report.kernels.size());
    row.accounting = accounting_row(analysis, forward);
    split(analysis, forward, per, row);
    report.forwards.push_back(std::move(row));
    for (KernelRow& kernel : grouped.rows) report.kernels.push_back(std::move(kernel));
  }
  report.findings = rows_of(analysis, findings, window.first);
  report.statistics = statistics_of(analysis);
  return report;
}

std::vector<VerdictRow> verdict_rows(const Analysis& analysis, const std::vector<guess::Verdict>& verdicts) {
  const Ns first = window_of(*analysis.trace).first;
  std::vector<VerdictRow> rows;
  for (const auto& verdict : verdicts) {
    VerdictRow row;
    row.verdict = verdict;
    row.evidence = evidence_of(analysis, verdict.events, first);
    row.events = indices_of(row.evidence);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<FindingRow> finding_rows(const Analysis& analysis,
                                     const std::vector<analysis::rules::Finding>& findings) {
  return rows_of(analysis, findings, window_of(*analysis.trace).first);
}

}  // namespace hunch::report
