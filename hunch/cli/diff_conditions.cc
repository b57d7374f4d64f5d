// See the header. A time or size fails only beyond noise, whatever its percentage.
#include "hunch/cli/diff_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "hunch/analysis/rules/rule.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::cli {
namespace {

using analysis::diff::ForwardDiff;
using analysis::diff::Item;
using analysis::diff::ItemKind;
using analysis::diff::Judgement;
using analysis::diff::Total;

constexpr std::array<std::string_view, 13> kWords = {
    "slower",   "host_slower", "memory", "kernels",      "copies",   "memsets", "appeared",
    "vanished", "backend",     "dtype",  "tensor_cores", "findings", "any",
};

struct TotalWord {
  std::string_view word, total;
};
constexpr std::array<TotalWord, 6> kTotals = {{{"slower", "device_ns"},
                                               {"host_slower", "host_ns"},
                                               {"memory", "peak_bytes"},
                                               {"kernels", "kernels"},
                                               {"copies", "memcpy"},
                                               {"memsets", "memset"}}};

std::string_view total_of(std::string_view word) {
  for (const TotalWord& one : kTotals)
    if (one.word == word) return one.total;
  return {};
}

std::string value_text(const Total& total, int64_t value) {
  if (total.is_time) return base::format_ns(value);
  return total.is_bytes ? base::format_bytes(value) : base::format_count(value);
}

std::string item_text(const Item& item) {
  return fmt::format("{} of {}", item.before_name.empty() ? item.after_name : item.before_name,
                     item.op.empty() ? "no op" : item.op);
}

// What of one forward fails a condition; empty: nothing.
std::string failing_total(const ForwardDiff& diff, std::string_view name, double percent) {
  for (const Total& total : diff.totals) {
    if (total.name != name || total.verdict.judgement != Judgement::more) continue;
    const int64_t before = total.before.median, after = total.after.median;
    const double grown =
        before > 0 ? 100.0 * static_cast<double>(after - before) / static_cast<double>(before) : HUGE_VAL;
    if (percent >= 0 && grown <= percent) continue;
    std::string text =
        fmt::format("{} before, {} after", value_text(total, before), value_text(total, after));
    if (std::isfinite(grown)) text += fmt::format(" ({:+.1f} %)", grown);
    return text;
  }
  return {};
}

template <class Fails>
std::string failing_items(const ForwardDiff& diff, Fails fails) {
  std::string text;
  std::size_t more = 0;
  for (const Item& item : diff.items) {
    if (!fails(item)) continue;
    if (text.empty())
      text = item_text(item);
    else
      ++more;
  }
  if (more > 0) text += fmt::format(", and {} more", more);
  return text;
}

std::string failing_fact(const ForwardDiff& diff, std::string_view fact, std::string_view after) {
  return failing_items(diff, [&](const Item& item) {
    return std::any_of(item.changes.begin(), item.changes.end(), [&](const auto& change) {
      return change.fact == fact && (after.empty() || change.after == after);
    });
  });
}

std::string failing_finding(const report::DiffForward& row, std::string_view rule) {
  for (const auto& finding : row.appeared)
    if (rule.empty() || finding.finding.rule == rule)
      return fmt::format("{}: {}", finding.finding.rule, finding.finding.claim);
  return {};
}

std::string failing(const DiffCondition& condition, const report::DiffForward& row) {
  const ForwardDiff& diff = row.diff;
  const std::string& word = condition.word;
  if (const auto total = total_of(word); !total.empty()) return failing_total(diff, total, condition.percent);
  if (word == "appeared" || word == "vanished") {
    const ItemKind kind = word == "appeared" ? ItemKind::appeared : ItemKind::vanished;
    return failing_items(diff, [kind](const Item& item) { return item.kind == kind; });
  }
  if (word == "backend") {
    const auto text = [](const std::string& backend) { return backend.empty() ? "none" : backend; };
    if (diff.backend_changed())
      return fmt::format("{} before, {} after", text(diff.before_backend), text(diff.after_backend));
    return failing_fact(diff, "backend", "");
  }
  if (word == "dtype") return failing_fact(diff, "dtype", "");
  if (word == "tensor_cores") return failing_fact(diff, "tensor cores", "no");
  if (word == "findings") return failing_finding(row, "");
  if (word == "any") return diff.unchanged() ? std::string() : "the traces differ beyond noise";
  return failing_finding(row, word);
}

}  // namespace

base::Result<std::vector<DiffCondition>> parse_diff_conditions(const std::vector<std::string>& lists) {
  std::vector<std::string_view> known(kWords.begin(), kWords.end());
  for (const auto* rule : analysis::rules::rules()) known.push_back(rule->id());
  std::vector<DiffCondition> conditions;
  for (const std::string& list : lists) {
    for (const std::string_view part : base::split(list, ',')) {
      DiffCondition condition;
      condition.text = std::string(base::trim(part));
      const auto equal = condition.text.find('=');
      condition.word = std::string(base::trim(std::string_view(condition.text).substr(0, equal)));
      if (std::find(known.begin(), known.end(), condition.word) == known.end()) {
        const auto close = base::closest(condition.word, known);
        return base::fail(base::ErrorCode::usage,
                          condition.word.empty()
                              ? "--fail-on: a condition is missing"
                              : fmt::format("--fail-on {}: unknown condition", condition.word),
                          close.empty() ? fmt::format("one of {}, or a rule's name", fmt::join(kWords, ", "))
                                        : base::did_you_mean(condition.word, known));
      }
      if (equal != std::string::npos) {
        std::string_view value = base::trim(std::string_view(condition.text).substr(equal + 1));
        if (!value.empty() && value.back() == '%') value = base::trim(value.substr(0, value.size() - 1));
        const auto percent = base::parse_double(value);
        const bool takes = !total_of(condition.word).empty();
        if (!takes || !percent || !std::isfinite(*percent) || *percent < 0)
          return base::fail(
              base::ErrorCode::usage,
              takes ? fmt::format("--fail-on {}: not a percentage", condition.text)
                    : fmt::format("--fail-on {}: {} takes no percentage", condition.text, condition.word),
              takes ? fmt::format("{}=5%", condition.word) : condition.word);
        condition.percent = *percent;
      }
      conditions.push_back(std::move(condition));
    }
  }
  return conditions;
}

base::Result<std::vector<report::DiffFailure>> failed_conditions(const std::vector<DiffCondition>& conditions,
                                                                 const report::DiffReport& report) {
  std::vector<report::DiffFailure> failures;
  for (const DiffCondition& condition : conditions) {
    // What was not recorded never passes in silence.
    const auto has_total = [&](const auto& row) {
      return std::any_of(row.diff.totals.begin(), row.diff.totals.end(),
                         [&](const Total& total) { return total.name == total_of(condition.word); });
    };
    if (condition.word == "memory" && !std::any_of(report.forwards.begin(), report.forwards.end(), has_total))
      return base::fail(base::ErrorCode::usage,
                        fmt::format("--fail-on {}: the traces do not both record memory", condition.text),
                        "profile_memory=True records it");
    for (const auto& row : report.forwards) {
      const std::string what = failing(condition, row);
      if (!what.empty())
        failures.push_back({condition.text, fmt::format("{}: {}", row.diff.after_range, what)});
    }
    const bool any = condition.word == "any";
    for (const std::string& range : report.only_before)
      if (any || condition.word == "vanished")
        failures.push_back(
            {condition.text, fmt::format("{}: the range is only in {}", range, report.before)});
    for (const std::string& range : report.only_after)
      if (any || condition.word == "appeared")
        failures.push_back({condition.text, fmt::format("{}: the range is only in {}", range, report.after)});
  }
  return failures;
}

}  // namespace hunch::cli
