// See the header. Words, not signs: "MISS" and "holds" can be searched for and read aloud.
#include "hunch/report/terminal/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hunch/base/units.h"
#include "hunch/report/utf8.h"

namespace hunch::report::terminal {
namespace {

constexpr std::size_t kCellLimit = 34;  // longer expectations move below their row
constexpr std::size_t kLabel = 9;

std::string spread_text(const Spread& value, std::string (*format)(int64_t)) {
  const std::string low = format(value.min);
  const std::string high = format(value.max);
  if (low == high) return format(value.median);
  return fmt::format("{} ({} to {})", format(value.median), low, high);
}

std::string cost_text(const analysis::rules::Finding& finding) {
  std::string text;
  if (finding.cost_ns) text = base::format_ns(*finding.cost_ns);
  if (finding.cost_bytes) text += (text.empty() ? "" : " and ") + base::format_bytes(*finding.cost_bytes);
  return text.empty() ? text : text + " per forward";
}

std::string outcome_text(guess::Outcome outcome) {
  switch (outcome) {
    case guess::Outcome::holds:
      return "holds";
    case guess::Outcome::misses:
      return "MISS";
    case guess::Outcome::unknown:
      break;
  }
  return "unknown";
}

Ink outcome_ink(guess::Outcome outcome) {
  switch (outcome) {
    case guess::Outcome::holds:
      return Ink::good;
    case guess::Outcome::misses:
      return Ink::bad;
    case guess::Outcome::unknown:
      break;
  }
  return Ink::warn;
}

}  // namespace

std::string plural(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", base::format_count(count), count == 1 ? one : many);
}

std::string count_text(const Spread& count) {
  if (count.same()) return base::format_count(count.median);
  return fmt::format("{}..{}", base::format_count(count.min), base::format_count(count.max));
}

std::string work_text(const Spread& kernels, const Spread& memcpy, const Spread& memset) {
  const auto noun = [](const Spread& count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count_text(count), count.same() && count.median == 1 ? one : many);
  };
  std::string text = count_text(kernels);
  if (memcpy.max > 0) text += " + " + noun(memcpy, "copy", "copies");
  if (memset.max > 0) text += " (+ " + noun(memset, "memset", "memsets") + ")";
  return text;
}

std::string time_text(const Spread& time) { return spread_text(time, base::format_ns); }
std::string bytes_text(const Spread& bytes) { return spread_text(bytes, base::format_bytes); }

std::string percent_text(double pct) {
  if (pct > 0 && pct < 0.05) return "<0.1 %";
  std::string text = fmt::format("{:.1f}", pct);
  if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text + " %";
}

std::string occupancy_text(const std::optional<OccupancyCell>& cell) {
  if (!cell) return {};
  if (!cell->theoretical_pct) return percent_text(*cell->reported_pct) + " (reported)";
  std::string text = percent_text(*cell->theoretical_pct);
  if (cell->reported_pct && *cell->reported_pct == 0 && cell->grid_limited_pct.value_or(1) >= 0.5)
    text += ", not 0";
  else if (cell->grid_limited_pct && percent_text(*cell->grid_limited_pct) != text)
    text += fmt::format(" (grid {})", percent_text(*cell->grid_limited_pct));
  // Two calculations of one thing: told only where they differ.
  if (cell->driver_pct && percent_text(*cell->driver_pct) != percent_text(*cell->theoretical_pct))
    text += fmt::format(", driver says {}", percent_text(*cell->driver_pct));
  return text;
}

std::string share_text(Ns part, Ns whole) {
  if (whole <= 0) return {};
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string_view short_op(std::string_view op) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  return op.substr(0, kEngine.size()) == kEngine ? op.substr(kEngine.size()) : op;
}

std::string_view op_or_none(std::string_view op, bool launched) {
  if (op.empty()) return launched ? "(no op)" : "(no launch)";
  return short_op(op);
}

std::string evidence_text(const std::vector<Evidence>& evidence, std::size_t most) {
  if (evidence.empty()) return {};
  const std::string& first = evidence.front().op;
  const bool one_op =
      std::all_of(evidence.begin(), evidence.end(), [&](const auto& item) { return item.op == first; });
  std::string text;
  const std::size_t told = std::min(evidence.size(), most);
  for (std::size_t i = 0; i < told; ++i) {
    const Evidence& item = evidence[i];
    text += fmt::format("{}event {}: {} ({})", i == 0 ? "" : "; ", item.event, item.name,
                        base::format_ns(item.duration_ns));
    if (!one_op && !item.op.empty()) text += fmt::format(", launched by {}", short_op(item.op));
  }
  if (evidence.size() > told) text += fmt::format("; and {} more", evidence.size() - told);
  if (one_op && !first.empty())
    text += fmt::format(", {}launched by {}", evidence.size() == 1 ? "" : "all ", short_op(first));
  return text;
}

void findings_block(std::string& out, const Style& style, std::size_t indent,
                    const std::vector<FindingRow>& rows, bool with_range, bool with_evidence) {
  std::size_t number = 0;
  for (const FindingRow& row : rows) {
    const auto& finding = row.finding;
    const std::string mark = fmt::format("{}.", ++number);
    std::string head = finding.rule;
    if (with_range) head += " in " + finding.range;
    const std::size_t column = std::max<std::size_t>(mark.size() + 1, 4);
    std::string first;
    labelled(first, style, indent, mark, column, head + ": " + finding.claim, Ink::bold);
    out += first;
    const auto put = [&](std::string_view label, std::string_view text) {
      if (!text.empty()) labelled(out, style, indent + column, label, kLabel, text);
    };
    put("because", finding.cause);
    put("do", finding.advice);
    put("costs", cost_text(finding));
    if (with_evidence) put("seen in", evidence_text(row.evidence, 3));
  }
}

void verdicts_block(std::string& out, const Style& style, std::size_t indent,
                    const std::vector<VerdictRow>& rows, bool with_range, bool with_evidence) {
  Table table({{"verdict", Align::left, 5},
               {"ranks", Align::left, 6, 6},
               {"range", Align::left, 1, 8},
               {"metric", Align::left, 4},
               {"guess", Align::left, 3, 10},
               {"seen", Align::left, 3, 10}},
              indent);
  for (const VerdictRow& row : rows) {
    const auto& verdict = row.verdict;
    const bool long_guess = display_width(verdict.expected) > kCellLimit;
    const bool long_seen = display_width(verdict.seen) > kCellLimit;
    table.add({{outcome_text(verdict.outcome), outcome_ink(verdict.outcome)},
               {row.rank ? row.source : "", Ink::plain},
               {with_range ? verdict.range : "", Ink::plain},
               {verdict.metric, Ink::plain},
               {long_guess ? "(below)" : verdict.expected, Ink::plain},
               {long_seen              ? "(below)"
                : verdict.seen.empty() ? "-"
                                       : verdict.seen,
                Ink::plain}});
    if (long_guess) table.note("guess", verdict.expected);
    if (long_seen) table.note("seen", verdict.seen);
    if (!verdict.why.empty()) table.note("because", verdict.why);
    if (with_evidence && verdict.outcome == guess::Outcome::misses && !row.evidence.empty())
      table.note("seen in",
                 (row.rank ? fmt::format("rank {}, ", *row.rank) : "") + evidence_text(row.evidence, 3));
  }
  if (!table.empty()) table.render(style, out);
}

Tally tally(const std::vector<VerdictRow>& rows) {
  Tally counts;
  for (const VerdictRow& row : rows) {
    switch (row.verdict.outcome) {
      case guess::Outcome::holds:
        ++counts.holds;
        break;
      case guess::Outcome::misses:
        ++counts.misses;
        break;
      case guess::Outcome::unknown:
        ++counts.unknown;
        break;
    }
  }
  return counts;
}

std::string tally_text(const Tally& counts) {
  if (counts.total() == 0) return "-";
  if (counts.misses > 0) return fmt::format("misses {} of {}", counts.misses, counts.total());
  if (counts.unknown > 0) return fmt::format("holds {} of {}", counts.holds, counts.total());
  return counts.total() == 1 ? "holds" : fmt::format("holds all {}", counts.total());
}

Ink tally_ink(const Tally& counts) {
  if (counts.total() == 0) return Ink::dim;
  if (counts.misses > 0) return Ink::bad;
  return counts.unknown > 0 ? Ink::warn : Ink::good;
}

}  // namespace hunch::report::terminal
