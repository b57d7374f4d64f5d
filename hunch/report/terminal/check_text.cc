// What `hunch check` prints: one line with the outcome, then every verdict, misses first with their evidence.
// Of several ranks, verdicts that say the same are one, with the ranks that it is of.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {
namespace {

std::string outcome_text(const Tally& counts) {
  std::string text = counts.total() == 0  ? "nothing to check"
                     : counts.misses > 0  ? fmt::format("misses {} of {}", counts.misses, counts.total())
                     : counts.unknown > 0 ? fmt::format("holds {} of {}", counts.holds, counts.total())
                                          : fmt::format("holds, all {} of it", counts.total());
  if (counts.unknown > 0) text += fmt::format("; {} cannot be judged", counts.unknown);
  return text;
}

// "ranks 0-3, 5" before the range; where all ranks agree, "all ranks".
std::vector<VerdictRow> over_ranks(const CheckReport& report) {
  using Key = std::tuple<guess::Outcome, std::string, std::string, std::string, std::string>;
  std::map<Key, std::size_t> index;
  std::vector<VerdictRow> rows;
  std::vector<std::vector<int64_t>> ranks;
  for (const VerdictRow& row : report.verdicts) {
    const auto& verdict = row.verdict;
    const auto [at, fresh] = index.try_emplace(
        Key(verdict.outcome, verdict.range, verdict.metric, verdict.expected, verdict.seen), rows.size());
    if (fresh) {
      rows.push_back(row);
      ranks.emplace_back();
    }
    ranks[at->second].push_back(row.rank.value_or(-1));
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].source =
        static_cast<int64_t>(ranks[i].size()) == report.ranks ? "all" : analysis::ranks_text(ranks[i]);
  return rows;
}

}  // namespace

std::string render(const CheckReport& report, const Style& style) {
  std::string out;
  const Tally counts = tally(report.verdicts);
  std::string where = report.trace;
  if (report.ranks > 0) where += fmt::format(" ({})", plural(report.ranks, "rank", "ranks"));
  paragraph(out, style, 0, fmt::format("{} against {}: {}", report.guess, where, outcome_text(counts)),
            tally_ink(counts));
  for (const std::string& warning : report.warnings) labelled(out, style, 0, "note", 6, warning, Ink::warn);
  if (!report.verdicts.empty()) {
    out += '\n';
    verdicts_block(out, style, 0, report.ranks > 0 ? over_ranks(report) : report.verdicts, true, true);
  }
  return out;
}

}  // namespace hunch::report::terminal
