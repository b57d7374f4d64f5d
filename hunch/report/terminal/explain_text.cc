// What `hunch explain` prints: the trace in one line; each range with its counts, times and what it ran, one
// line per device event for a short forward and one per kind of kernel for a long one; what is surprising;
// and the account of every device event, so that nothing is silently left out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "hunch/base/units.h"
#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {
namespace {

constexpr std::size_t kLongForward = 40;  // more device events than this are grouped
constexpr std::size_t kLabel = 13;

// "aten" where every op of the steps is "aten::...": then the column's title says it once.
std::string shared_space(const std::vector<Step>& steps) {
  std::string space;
  for (const Step& step : steps) {
    for (const std::string* op : {&step.op, &step.inner_op}) {
      if (op->empty()) continue;
      const auto end = op->find("::");
      if (end == std::string::npos || (!space.empty() && op->compare(0, end, space) != 0)) return {};
      space = op->substr(0, end);
    }
  }
  return space;
}

// The op without the namespace that the title says.
std::string_view without_space(std::string_view op, std::string_view space) {
  return space.empty() || op.empty() ? op : op.substr(space.size() + 2);
}

// "masked_fill > copy_": outermost and innermost op.
std::string op_text(const Step& step, std::string_view space) {
  if (step.op.empty()) return std::string(op_or_none(step.op, step.launched));
  const auto outer = short_op(without_space(step.op, space));
  if (step.inner_op.empty() || step.inner_op == step.op) return std::string(outer);
  return fmt::format("{} > {}", outer, without_space(step.inner_op, space));
}

// True where no op launched any of it, as in recordings of programs: the column of ops then says nothing.
bool has_no_ops(const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const Step& step) { return step.op.empty() && step.launched; });
}

// The op that all steps share, where there are several steps under one: said once instead of on each line.
std::string shared_op(const std::vector<Step>& steps) {
  if (steps.size() < 2 || steps.front().op.empty()) return {};
  bool inner_differs = false;
  for (const Step& step : steps) {
    if (step.op != steps.front().op) return {};
    inner_differs = inner_differs || step.inner_op != step.op;
  }
  return inner_differs ? steps.front().op : std::string();
}

std::string smem_text(const KernelRow& row) {
  if (row.kind != "kernel" || row.shared_bytes < 0) return {};
  return base::format_bytes(row.shared_bytes);
}

std::string limit_text(const KernelRow& row) {
  return row.occupancy ? row.occupancy->limited_by : std::string();
}

void short_sequence(std::string& out, const Style& style, const ExplainReport& report,
                    const ForwardRow& forward) {
  const std::string shared = shared_op(forward.sequence);
  const std::string space = shared_space(forward.sequence);
  std::string op_title = shared.empty() ? "op" : "inner op";
  if (!space.empty()) op_title += fmt::format(" ({})", space);
  if (!shared.empty()) labelled(out, style, 2, "all under", kLabel, short_op(shared));
  Ns total = 0;
  for (const Step& step : forward.sequence) total += step.device_ns;
  Table table({{"#", Align::right, 6},
               {op_title, Align::left, 7, 16},
               {"family", Align::left, 5},
               {"kernel", Align::left, 8, 20},
               {"time", Align::right, 9},
               {"share", Align::right, 4},
               {"regs", Align::right, 1},
               {"shared", Align::right, 1},
               {"occupancy", Align::right, 3},
               {"limited by", Align::left, 0}},
              2);
  std::size_t number = 0;
  const bool no_ops = has_no_ops(forward.sequence);
  for (const Step& step : forward.sequence) {
    const KernelRow& row = report.kernels[step.row];
    std::string op;
    if (!no_ops)
      op = shared.empty() ? op_text(step, space) : std::string(without_space(step.inner_op, space));
    table.add({{fmt::format("{}", ++number), Ink::dim},
               {op, Ink::plain},
               {step.family, step.kind == "kernel" ? Ink::plain : Ink::warn},
               {step.readable, Ink::plain},
               {base::format_ns(step.device_ns), Ink::plain},
               {share_text(step.device_ns, total), Ink::plain},
               {row.registers >= 0 ? fmt::format("{}", row.registers) : "", Ink::plain},
               {smem_text(row), Ink::plain},
               {occupancy_text(row.occupancy), Ink::plain},
               {limit_text(row), Ink::dim}});
    if (style.full_names && row.name != step.readable) table.note("", row.name);
  }
  table.render(style, out);
}

struct Group {
  const KernelRow* first = nullptr;
  int64_t calls = 0;
  Ns time = 0;
  bool launched = false;
};

void long_sequence(std::string& out, const Style& style, const ExplainReport& report,
                   const ForwardRow& forward) {
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  std::vector<Group> groups;
  for (const KernelRow& row : report.kernels) {
    if (row.range != forward.range) continue;
    const auto key = std::make_tuple(row.readable, row.op, row.family);
    const auto [at, fresh] = index.try_emplace(key, groups.size());
    if (fresh) groups.push_back({&row, 0, 0, false});
    groups[at->second].calls += row.calls;
    groups[at->second].time += row.device_ns;
    groups[at->second].launched = groups[at->second].launched || row.launched;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.time > b.time; });
  const std::size_t shown =
      style.top > 0 ? std::min(groups.size(), static_cast<std::size_t>(style.top)) : groups.size();
  Table table({{"calls", Align::right, 6},
               {"time", Align::right, 9},
               {"share", Align::right, 7},
               {"family", Align::left, 3},
               {"kernel", Align::left, 8, 20},
               {"op", Align::left, 5, 14},
               {"occupancy", Align::right, 1}},
              2);
  const bool no_ops = has_no_ops(forward.sequence);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = *groups[i].first;
    table.add({{base::format_count(groups[i].calls), Ink::plain},
               {base::format_ns(groups[i].time), Ink::plain},
               {share_text(groups[i].time, forward.device_ns.median), Ink::plain},
               {row.family, row.kind == "kernel" ? Ink::plain : Ink::warn},
               {row.readable, Ink::plain},
               {no_ops ? "" : std::string(op_or_none(row.op, groups[i].launched)), Ink::plain},
               {occupancy_text(row.occupancy), Ink::plain}});
    if (style.full_names && row.name != row.readable) table.note("", row.name);
  }
  table.render(style, out);
  if (shown < groups.size()) {
    int64_t calls = 0;
    Ns time = 0;
    for (std::size_t i = shown; i < groups.size(); ++i) {
      calls += groups[i].calls;
      time += groups[i].time;
    }
    paragraph(out, style, 2,
              fmt::format("and {} more kinds: {}, {} ({}); --top 0 shows all", groups.size() - shown,
                          plural(calls, "call", "calls"), base::format_ns(time),
                          share_text(time, forward.device_ns.median)),
              Ink::dim);
  }
}

// Where the wall time went, with the sum: parts of nothing are left out, the sum is of all.
void accounting_block(std::string& out, const Style& style, const ForwardRow& forward) {
  if (!forward.accounting) return;
  const AccountingRow& account = *forward.accounting;
  out += '\n';
  const std::string which =
      forward.runs > 1 ? fmt::format(" of run {} of {}, the median", account.run, forward.runs) : "";
  paragraph(out, style, 2, fmt::format("Wall time{}:", which), Ink::dim);
  Table table({{"part", Align::left, 9},
               {"ns", Align::right, 8},
               {"share", Align::right, 7},
               {"what", Align::left, 6, 24}},
              2);
  for (const AccountingPart& part : account.parts)
    if (part.ns > 0)
      table.add({{part.name, Ink::plain},
                 {base::format_count(part.ns), Ink::plain},
                 {share_text(part.ns, account.wall_ns), Ink::plain},
                 {part.what, Ink::dim}});
  table.add({{"sum", Ink::bold},
             {base::format_count(account.sum_ns), Ink::bold},
             {share_text(account.sum_ns, account.wall_ns), Ink::plain},
             {fmt::format("wall time {} ns", base::format_count(account.wall_ns)), Ink::dim}});
  table.render(style, out);
  if (account.overlap_ns > 0)
    paragraph(out, style, 2,
              fmt::format("Work that overlapped counts once: {} ns less than the durations added up.",
                          base::format_count(account.overlap_ns)),
              Ink::dim);
}

void per_table(std::string& out, const Style& style, const ForwardRow& forward, Per per) {
  if (forward.per.empty()) {
    if (per == Per::layer) paragraph(out, style, 2, "No layers: nothing in it repeats.", Ink::dim);
    return;
  }
  if (per == Per::layer)
    paragraph(
        out, style, 2,
        fmt::format("Layers found by {}, run {} of {}:", forward.layers_by, forward.per_run, forward.runs),
        Ink::dim);
  if (per == Per::op && forward.runs > 1)
    paragraph(out, style, 2, fmt::format("Run {} of {}, the median:", forward.per_run, forward.runs),
              Ink::dim);
  Ns total = 0;
  for (const PerRow& row : forward.per) total += row.device_ns;
  Table table({{std::string(name_of(per)), Align::left, 10, 14},
               {"calls", Align::right, 8},
               {"kernels", Align::right, 7},
               {"copies", Align::right, 4},
               {"memsets", Align::right, 3},
               {"device time", Align::right, 9},
               {"share", Align::right, 6},
               {"busy", Align::right, 5},
               {"host time", Align::right, 5}},
              2);
  const auto count = [](int64_t value) { return value > 0 ? base::format_count(value) : std::string(); };
  const auto time = [](const std::optional<Ns>& value) { return value ? base::format_ns(*value) : ""; };
  const std::size_t shown =
      style.top > 0 ? std::min(forward.per.size(), static_cast<std::size_t>(style.top)) : forward.per.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const PerRow& row = forward.per[i];
    table.add({{row.name.empty() ? "(no op)" : std::string(short_op(row.name)), Ink::plain},
               {row.calls ? base::format_count(*row.calls) : "", Ink::plain},
               {base::format_count(row.kernels), Ink::plain},
               {count(row.memcpy), Ink::plain},
               {count(row.memset), Ink::plain},
               {base::format_ns(row.device_ns), Ink::plain},
               {per == Per::step ? "" : share_text(row.device_ns, total), Ink::plain},
               {time(row.busy_ns), Ink::plain},
               {time(row.host_ns), Ink::plain}});
  }
  table.render(style, out);
  if (shown == forward.per.size()) return;
  Ns rest = 0;
  for (std::size_t i = shown; i < forward.per.size(); ++i) rest += forward.per[i].device_ns;
  paragraph(
      out, style, 2,
      fmt::format("and {} more: {}; --top 0 shows all", forward.per.size() - shown, base::format_ns(rest)),
      Ink::dim);
}

void forward_block(std::string& out, const Style& style, const ExplainReport& report,
                   const ForwardRow& forward) {
  out += '\n';
  paragraph(out, style, 0, fmt::format("{}: {}", forward.range, plural(forward.runs, "run", "runs")),
            Ink::bold);
  const auto put = [&](std::string_view label, const std::string& text) {
    labelled(out, style, 2, label, kLabel, text);
  };
  put("kernels", work_text(forward.kernels, forward.memcpy, forward.memset));
  std::string device = time_text(forward.device_ns);
  if (forward.busy_ns.median < forward.device_ns.median)
    device += fmt::format("; kernels overlap, busy {}", base::format_ns(forward.busy_ns.median));
  put("device time", device);
  put("host time", time_text(forward.host_ns));
  if (forward.peak_bytes) put("peak memory", bytes_text(*forward.peak_bytes));
  put("attention", attention_text(report, forward));
  if (forward.found_by != "annotation") put("found by", forward.found_by);
  accounting_block(out, style, forward);
  if (report.per != Per::none) {
    out += '\n';
    per_table(out, style, forward, report.per);
    return;
  }
  if (forward.sequence.empty()) return;
  out += '\n';
  const bool differ = !forward.kernels.same() || !forward.memcpy.same() || !forward.memset.same();
  if (forward.sequence.size() <= kLongForward) {
    if (forward.runs > 1 && differ) paragraph(out, style, 2, "the first run; the runs differ:", Ink::dim);
    short_sequence(out, style, report, forward);
  } else {
    long_sequence(out, style, report, forward);
  }
}

void statistics_block(std::string& out, const Style& style, const Statistics& numbers) {
  out += '\n';
  std::string text =
      fmt::format("{} read, {} skipped. ", plural(static_cast<int64_t>(numbers.events), "event", "events"),
                  numbers.skipped == 0 ? "none" : base::format_count(static_cast<int64_t>(numbers.skipped)));
  if (numbers.device_events == 0) {
    text += "No device work in this trace: was the device recorded?";
  } else {
    const auto inside = static_cast<int64_t>(numbers.device_events - numbers.unattributed_device_events);
    text += fmt::format("{} on the device ({}): {} in the ranges above",
                        plural(static_cast<int64_t>(numbers.device_events), "event", "events"),
                        base::format_ns(numbers.device_ns), base::format_count(inside));
    if (numbers.unattributed_device_events > 0)
      text += fmt::format(", {} ({}) in none",
                          base::format_count(static_cast<int64_t>(numbers.unattributed_device_events)),
                          base::format_ns(numbers.unattributed_device_ns));
    if (numbers.unlinked_device_events > 0)
      text += fmt::format("; {} without a launch call in the trace",
                          base::format_count(static_cast<int64_t>(numbers.unlinked_device_events)));
    text += ".";
  }
  paragraph(out, style, 0, text, Ink::dim);
  for (const auto& [reason, count] : numbers.skipped_reasons)
    paragraph(out, style, 0,
              fmt::format("skipped: {} ({})", reason, base::format_count(static_cast<int64_t>(count))),
              Ink::warn);
  for (const std::string& warning : numbers.warnings)
    paragraph(out, style, 0, "warning: " + warning, Ink::warn);
}

}  // namespace

std::string render(const ExplainReport& report, const Style& style) {
  std::string out;
  paragraph(out, style, 0, report.trace.source, Ink::bold);
  paragraph(out, style, 0,
            fmt::format("{}, {}, {} over {}", report.trace.format,
                        report.trace.device.empty() ? "device not described" : report.trace.device,
                        plural(static_cast<int64_t>(report.trace.events), "event", "events"),
                        base::format_ns(report.trace.span_ns)));
  for (const ForwardRow& forward : report.forwards) forward_block(out, style, report, forward);
  if (report.forwards.empty())
    paragraph(out, style, 0, "No forward found: the trace has no range, step or device work.");
  if (!report.findings.empty()) {
    out += '\n';
    paragraph(out, style, 0, "What is surprising", Ink::bold);
    findings_block(out, style, 2, report.findings, report.forwards.size() > 1, true);
  }
  statistics_block(out, style, report.statistics);
  return out;
}

}  // namespace hunch::report::terminal
