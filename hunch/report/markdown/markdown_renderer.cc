// The documents as headings, tables and lists; the same numbers as the text, and the account of wall time to
// the nanosecond.
#include "hunch/report/markdown/markdown_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/report/markdown/markdown_table.h"
#include "hunch/report/markdown/ranks_markdown.h"
#include "hunch/report/markdown/why_markdown.h"

namespace hunch::report::markdown {
namespace {

using base::format_bytes;
using base::format_count;
using base::format_ns;

std::string share(Ns part, Ns whole) {
  if (whole <= 0) return {};
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

template <class Format>
std::string spread(const Spread& value, Format format) {
  if (value.same()) return format(value.median);
  return fmt::format("{} ({} to {})", format(value.median), format(value.min), format(value.max));
}

std::string percent(const std::optional<double>& pct) { return pct ? fmt::format("{:.1f} %", *pct) : ""; }

std::string occupancy(const std::optional<OccupancyCell>& cell) {
  if (!cell) return {};
  return percent(cell->theoretical_pct ? cell->theoretical_pct : cell->reported_pct);
}

std::size_t shown_of(std::size_t all, const Style& style) {
  return style.top > 0 ? std::min(all, static_cast<std::size_t>(style.top)) : all;
}

std::string left_out(std::size_t all, std::size_t shown) {
  return shown < all ? fmt::format("\n{} more; `--top 0` shows all.\n", all - shown) : std::string();
}

std::string findings(const std::vector<FindingRow>& rows, bool with_range) {
  std::string out;
  for (const FindingRow& row : rows) {
    const auto& finding = row.finding;
    out += fmt::format("- **{}**{}: {}\n", escaped(finding.rule),
                       with_range ? " in " + code(finding.range) : std::string(), escaped(finding.claim));
    if (!finding.cause.empty()) out += fmt::format("  - Why: {}\n", escaped(finding.cause));
    if (!finding.advice.empty()) out += fmt::format("  - What to do: {}\n", escaped(finding.advice));
  }
  return out;
}

std::string verdicts(const std::vector<VerdictRow>& rows) {
  Table table({">rank", "verdict", "range", "metric", "expected", "seen", "why"});
  for (const VerdictRow& row : rows)
    table.add({row.rank ? fmt::format("{}", *row.rank) : "",
               row.verdict.outcome == guess::Outcome::misses ? "**misses**"
                                                             : std::string(name_of(row.verdict.outcome)),
               code(row.verdict.range), escaped(row.verdict.metric), escaped(row.verdict.expected),
               escaped(row.verdict.seen), escaped(row.verdict.why)});
  return table.empty() ? std::string() : table.text();
}

std::string accounting(const ForwardRow& forward) {
  if (!forward.accounting) return {};
  const AccountingRow& account = *forward.accounting;
  Table table({"wall time", ">ns", ">share", "what"});
  for (const AccountingPart& part : account.parts)
    if (part.ns > 0)
      table.add(
          {escaped(part.name), format_count(part.ns), share(part.ns, account.wall_ns), escaped(part.what)});
  table.add({"**sum**", format_count(account.sum_ns), share(account.sum_ns, account.wall_ns),
             fmt::format("wall time {} ns", format_count(account.wall_ns))});
  return fmt::format("\nRun {} of {}{}:\n\n{}", account.run, forward.runs,
                     forward.runs > 1 ? ", the median" : "", table.text());
}

std::string split_up(const ForwardRow& forward, Per per, const Style& style) {
  Table table({std::string(name_of(per)), ">calls", ">kernels", ">copies", ">memsets", ">device time",
               ">share", ">busy", ">host time"});
  Ns total = 0;
  for (const PerRow& row : forward.per) total += row.device_ns;
  const std::size_t shown = shown_of(forward.per.size(), style);
  for (std::size_t i = 0; i < shown; ++i) {
    const PerRow& row = forward.per[i];
    table.add({row.name.empty() ? "(no op)" : code(row.name), row.calls ? format_count(*row.calls) : "",
               format_count(row.kernels), format_count(row.memcpy), format_count(row.memset),
               format_ns(row.device_ns), per == Per::step ? "" : share(row.device_ns, total),
               row.busy_ns ? format_ns(*row.busy_ns) : "", row.host_ns ? format_ns(*row.host_ns) : ""});
  }
  if (table.empty()) return per == Per::layer ? "\nNo layers: nothing in it repeats.\n" : "";
  return "\n" + table.text() + left_out(forward.per.size(), shown);
}

std::string kernels(const ExplainReport& report, const ForwardRow& forward, const Style& style) {
  std::vector<const KernelRow*> rows;
  for (const KernelRow& row : report.kernels)
    if (row.range == forward.range) rows.push_back(&row);
  Table table({"kernel", "family", "op", ">calls", ">time", ">share", ">registers", ">shared", ">occupancy",
               "limited by"});
  const std::size_t shown = shown_of(rows.size(), style);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = *rows[i];
    table.add({code(style.full_names ? row.name : row.readable), escaped(row.family),
               row.op.empty() ? "(no op)" : code(row.op), format_count(row.calls), format_ns(row.device_ns),
               share(row.device_ns, forward.device_ns.median),
               row.registers >= 0 ? fmt::format("{}", row.registers) : "",
               row.kind == "kernel" && row.shared_bytes >= 0 ? format_bytes(row.shared_bytes) : "",
               occupancy(row.occupancy), row.occupancy ? escaped(row.occupancy->limited_by) : ""});
  }
  return table.empty() ? std::string() : "\n" + table.text() + left_out(rows.size(), shown);
}

std::string render(const ExplainReport& report, const Style& style) {
  std::string out = fmt::format(
      "# {}\n\n{}, {}, {} events over {}\n", code(report.trace.source), escaped(report.trace.format),
      report.trace.device.empty() ? "device not described" : escaped(report.trace.device),
      format_count(static_cast<int64_t>(report.trace.events)), format_ns(report.trace.span_ns));
  for (const ForwardRow& forward : report.forwards) {
    out += fmt::format("\n## {}\n\n", code(forward.range));
    Table table({">runs", ">kernels", ">copies", ">memsets", ">device time", ">host time", ">peak memory",
                 "attention", "found by"});
    table.add({format_count(forward.runs), spread(forward.kernels, format_count),
               spread(forward.memcpy, format_count), spread(forward.memset, format_count),
               spread(forward.device_ns, format_ns), spread(forward.host_ns, format_ns),
               forward.peak_bytes ? spread(*forward.peak_bytes, format_bytes) : "",
               escaped(attention_text(report, forward)), escaped(forward.found_by)});
    out += table.text();
    out += accounting(forward);
    out += report.per == Per::none ? kernels(report, forward, style) : split_up(forward, report.per, style);
  }
  if (report.forwards.empty()) out += "\nNo forward found: the trace has no range, step or device work.\n";
  if (!report.findings.empty())
    out += "\n## What is surprising\n\n" + findings(report.findings, report.forwards.size() > 1);
  const Statistics& numbers = report.statistics;
  out += fmt::format("\n{} events read, {} skipped; {} on the device ({}), {} of them in no range.\n",
                     format_count(static_cast<int64_t>(numbers.events)),
                     format_count(static_cast<int64_t>(numbers.skipped)),
                     format_count(static_cast<int64_t>(numbers.device_events)), format_ns(numbers.device_ns),
                     format_count(static_cast<int64_t>(numbers.unattributed_device_events)));
  for (const std::string& warning : numbers.warnings) out += "\n**Warning:** " + escaped(warning) + "\n";
  return out;
}

std::string render(const RunReport& report, const Style& style) {
  std::string out = fmt::format("# {} on {}\n\n", escaped(report.problem_text), escaped(report.device_name));
  Table table({"variant", ">kernels", ">copies", ">memsets", ">device time", ">host time", ">first call",
               ">occupancy", ">peak memory", ">max error", "guess"});
  const auto told = [](const std::optional<Spread>& value, auto format) {
    return value ? format(value->median) : std::string();
  };
  for (const VariantRow& row : report.variants) {
    const auto misses = std::count_if(row.guess.begin(), row.guess.end(), [](const VerdictRow& each) {
      return each.verdict.outcome == guess::Outcome::misses;
    });
    std::string error;
    if (row.max_abs_error)
      error = std::isnan(*row.max_abs_error) ? "NaN" : fmt::format("{:.2g}", *row.max_abs_error);
    if (row.error_ok && !*row.error_ok) error += " **over the bound**";
    std::string guessed = row.guess.empty() ? "" : fmt::format("misses {} of {}", misses, row.guess.size());
    if (!row.available) guessed = "not available: " + escaped(base::join(row.reasons, "; "));
    table.add({code(row.name), told(row.kernels, format_count), told(row.memcpy, format_count),
               told(row.memset, format_count), told(row.device_ns, format_ns), told(row.host_ns, format_ns),
               row.first_call ? format_ns(row.first_call->total_ns()) : std::string(),
               occupancy(row.occupancy), told(row.peak_bytes, format_bytes), error, guessed});
  }
  out += table.text();
  for (const VariantRow& row : report.variants) {
    if (row.guess.empty() && row.findings.empty()) continue;
    out += fmt::format("\n## {}\n", code(row.name));
    if (!row.guess.empty()) out += "\n" + verdicts(row.guess);
    const std::size_t shown = shown_of(row.findings.size(), style);
    if (shown > 0)
      out +=
          "\n" +
          findings({row.findings.begin(), row.findings.begin() + static_cast<std::ptrdiff_t>(shown)}, false);
    out += left_out(row.findings.size(), shown);
  }
  return out;
}

std::string render(const CheckReport& report, const Style&) {
  std::string out =
      fmt::format("# {} against {}\n\n{}", code(report.guess), code(report.trace), verdicts(report.verdicts));
  for (const std::string& warning : report.warnings) out += "\n**Warning:** " + escaped(warning) + "\n";
  return out;
}

std::string render(const RanksReport& report, const Style& style) { return ranks(report, style); }

std::string render(const WhyReport& report, const Style&) { return why(report); }

std::string render(const DoctorReport& report, const Style&) {
  Table table({"what", "status", "detail"});
  for (const DoctorItem& item : report.items)
    table.add({escaped(item.name), escaped(item.status), escaped(item.detail)});
  return table.text();
}

std::string render(const NameReport& report, const Style&) {
  Table table({"readable", "family", "provider", "backend", "dtype", "Tensor Cores", "tile", "architecture",
               ">stages", "name"});
  for (const NameRow& row : report.names) {
    const auto& facts = row.facts;
    table.add({escaped(facts.readable), escaped(analysis::name_of(facts.family)), escaped(facts.provider),
               escaped(facts.backend), escaped(facts.dtype),
               facts.tensor_cores ? (*facts.tensor_cores ? "yes" : "no") : "", escaped(facts.tile),
               escaped(facts.architecture), facts.stages ? fmt::format("{}", *facts.stages) : "",
               code(row.name)});
  }
  return table.text();
}

std::string render(const DiffReport& report, const Style& style) {
  std::string out = fmt::format("# {} against {}\n", code(report.before), code(report.after));
  for (const DiffForward& forward : report.forwards) {
    const auto& diff = forward.diff;
    out += fmt::format("\n## {}\n\n", code(diff.before_range == diff.after_range
                                               ? diff.before_range
                                               : diff.before_range + " and " + diff.after_range));
    Table totals({"total", ">before", ">after", "beyond noise"});
    for (const auto& total : diff.totals) {
      const auto text = [&](int64_t value) {
        return total.is_time ? format_ns(value) : total.is_bytes ? format_bytes(value) : format_count(value);
      };
      totals.add({escaped(total.name), text(total.before.median), text(total.after.median),
                  total.verdict.differs() ? "yes" : ""});
    }
    if (!totals.empty()) out += totals.text();
    Table items({"difference", "op", "family", "before", "after", ">time before", ">time after", "why"});
    std::vector<const analysis::diff::Item*> told;
    for (const auto& item : diff.items)
      if (item.told()) told.push_back(&item);
    const std::size_t shown = shown_of(told.size(), style);
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& item = *told[i];
      std::vector<std::string> why;
      for (const auto& change : item.changes)
        why.push_back(fmt::format("{}: {} to {}", change.fact, change.before, change.after));
      for (const auto& reason : item.reasons) why.push_back(reason.text);
      items.add({std::string(name_of(item.kind)), code(item.op), escaped(item.family), code(item.before_name),
                 code(item.after_name), item.before_name.empty() ? "" : format_ns(item.before.value),
                 item.after_name.empty() ? "" : format_ns(item.after.value), escaped(base::join(why, "; "))});
    }
    out += items.empty() ? "\nNothing differs beyond noise.\n" : "\n" + items.text();
    out += left_out(told.size(), shown);
    const std::pair<const char*, const std::vector<FindingRow>*> lists[] = {
        {"New findings", &forward.appeared}, {"Findings that are gone", &forward.vanished}};
    for (const auto& [title, rows] : lists)
      if (!rows->empty()) out += fmt::format("\n{}:\n\n{}", title, findings(*rows, false));
  }
  for (const std::string& range : report.only_before) out += fmt::format("\nOnly before: {}\n", code(range));
  for (const std::string& range : report.only_after) out += fmt::format("\nOnly after: {}\n", code(range));
  for (const std::string& warning : report.warnings) out += "\n**Warning:** " + escaped(warning) + "\n";
  for (const DiffFailure& failure : report.failures)
    out += fmt::format("\n**Fails on {}:** {}\n", escaped(failure.condition), escaped(failure.what));
  return out;
}

}  // namespace

std::string MarkdownRenderer::render(const Document& document, const Style& style) const {
  return std::visit([&](const auto& report) { return markdown::render(report, style); }, document);
}

}  // namespace hunch::report::markdown
