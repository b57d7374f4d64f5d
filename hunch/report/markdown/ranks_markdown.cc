// See the header.
#include "hunch/report/markdown/ranks_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/units.h"
#include "hunch/report/markdown/markdown_table.h"

namespace hunch::report::markdown {
namespace {

using base::format_count;
using base::format_ns;

std::string rank_list(const RanksReport& report, const std::vector<std::size_t>& indices) {
  return fmt::format("{} {}", indices.size() == 1 ? "rank" : "ranks",
                     analysis::ranks_text(report.numbers_of(indices)));
}

std::string spread(const Spread& value, std::string (*format)(int64_t)) {
  if (value.same()) return format(value.median);
  return fmt::format("{} ({} to {})", format(value.median), format(value.min), format(value.max));
}

std::string waiting(const RanksReport& report, const RanksForward& forward) {
  const auto& waiting = forward.waiting;
  using Told = analysis::Waiting::Told;
  if (waiting.told == Told::no_communication) return {};
  if (waiting.told == Told::not_told)
    return fmt::format("\nWho waited for whom cannot be told: {}.\n", escaped(waiting.why));
  if (waiting.told == Told::balanced)
    return fmt::format("\nNobody is waited for throughout: {}.\n", escaped(waiting.why));
  std::vector<std::size_t> late;
  for (const std::size_t i : waiting.late) late.push_back(forward.ranks[i].rank);
  return fmt::format(
      "\n**The others wait for {}**: {} a run in collectives; last to {} of {}. More compute there: {}; more "
      "idle "
      "time: {}.\n",
      rank_list(report, late), format_ns(waiting.waited_more_others), format_count(waiting.last),
      format_count(waiting.collectives), format_ns(waiting.compute_more), format_ns(waiting.idle_more));
}

std::string range(const RanksReport& report, const RanksForward& forward, const Style& style) {
  Table table({">rank", ">runs", ">kernels", ">copies", ">memsets", ">device time", ">host time", ">busy",
               ">compute", ">communication", ">exposed", ">waited"});
  const bool communicates = forward.communication_ns.max > 0;
  const std::size_t shown = style.top_given && style.top > 0
                                ? std::min(forward.ranks.size(), static_cast<std::size_t>(style.top))
                                : forward.ranks.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const RankForward& row = forward.ranks[i];
    const auto part = [&](Ns time) { return communicates ? format_ns(time) : std::string(); };
    table.add({fmt::format("{}", report.ranks[row.rank].identity.rank), format_count(row.runs),
               spread(row.kernels, format_count), spread(row.memcpy, format_count),
               spread(row.memset, format_count), format_ns(row.device_ns), format_ns(row.host_ns),
               fmt::format("{:.0f} %", row.busy_pct), part(row.compute_ns), part(row.communication_ns),
               part(row.exposed_ns), row.waited_ns ? format_ns(*row.waited_ns) : ""});
  }
  std::string out = fmt::format("\n## {}\n\n{}", code(forward.range), table.text());
  if (shown < forward.ranks.size())
    out += fmt::format("\n{} more; `--top 0` shows all.\n", forward.ranks.size() - shown);
  if (!forward.odd.empty()) {
    std::vector<std::size_t> odd;
    for (const std::size_t i : forward.odd) odd.push_back(forward.ranks[i].rank);
    out += fmt::format("\nOther counts than on most ranks: {}.\n", rank_list(report, odd));
  }
  return out + waiting(report, forward);
}

}  // namespace

std::string ranks(const RanksReport& report, const Style& style) {
  std::string out =
      fmt::format("# {}\n\n{} {}, {}, {}, {} events\n", code(report.trace.source), report.ranks.size(),
                  report.ranks.size() == 1 ? "rank" : "ranks", escaped(report.trace.format),
                  report.trace.device.empty() ? "device not described" : escaped(report.trace.device),
                  format_count(static_cast<int64_t>(report.trace.events)));
  if (!report.missing.empty())
    out += fmt::format("\n**Missing:** {} {}\n", report.missing.size() == 1 ? "rank" : "ranks",
                       analysis::ranks_text(report.missing));
  for (const auto& each : report.doubles)
    out += fmt::format("\n**Twice:** rank {}: {} is read, {} is left out\n", each.rank, code(each.kept),
                       code(each.left_out));
  for (const SkippedFile& file : report.skipped_files)
    out += fmt::format("\nSkipped {}: {}\n", code(file.path), escaped(file.why));
  for (const std::string& warning : report.warnings) out += "\n**Warning:** " + escaped(warning) + "\n";
  for (const RanksForward& forward : report.forwards) out += range(report, forward, style);
  if (report.forwards.empty()) out += "\nNo forward found: the traces have no range, step or device work.\n";
  if (!report.findings.empty()) out += "\n## What is surprising\n\n";
  for (const RanksFinding& row : report.findings) {
    const auto& finding = row.row.finding;
    out += fmt::format("- **{}** in {}, {}: {}\n", escaped(finding.rule), code(finding.range),
                       row.everywhere ? "on all its ranks" : "only on " + rank_list(report, row.ranks),
                       escaped(finding.claim));
    if (!finding.cause.empty()) out += fmt::format("  - Why: {}\n", escaped(finding.cause));
    if (!finding.advice.empty()) out += fmt::format("  - What to do: {}\n", escaped(finding.advice));
    if (row.cost_ns) out += fmt::format("  - Costs: {} per forward\n", spread(*row.cost_ns, format_ns));
  }
  const Statistics& numbers = report.statistics;
  out += fmt::format("\n{} events read, {} skipped; {} on the devices ({}), {} of them in no range.\n",
                     format_count(static_cast<int64_t>(numbers.events)),
                     format_count(static_cast<int64_t>(numbers.skipped)),
                     format_count(static_cast<int64_t>(numbers.device_events)), format_ns(numbers.device_ns),
                     format_count(static_cast<int64_t>(numbers.unattributed_device_events)));
  for (const std::string& warning : numbers.warnings) out += "\n**Warning:** " + escaped(warning) + "\n";
  return out;
}

}  // namespace hunch::report::markdown
