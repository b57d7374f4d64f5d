// Holding a guess against an analysis: measure each expectation in every run of its range, judge, and give
// each miss its evidence: the events of the first run that misses, and the finding that explains them.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/check.h"
#include "hunch/base/strings.h"
#include "hunch/guess/guess.h"
#include "hunch/guess/metrics.h"
#include "hunch/guess/sequence.h"

namespace hunch::guess {
namespace {

using analysis::Analysis;
using analysis::EventId;
using analysis::Forward;
using analysis::rules::Finding;
using base::ErrorCode;
using base::fail;
using base::Result;

// A verdict with how surprising it is: how far the value lies from the guess, as a factor >= 1.
struct Judged {
  Verdict verdict;
  double surprise = 0;
};

Result<const Forward*> find_forward(const Analysis& analysis, const std::string& range) {
  std::vector<std::string_view> names;
  for (const auto& forward : analysis.forwards) {
    if (forward.range == range) return &forward;
    names.push_back(forward.range);
  }
  if (range.empty() && names.size() == 1) return &analysis.forwards.front();
  if (names.empty()) return fail(ErrorCode::usage, "the trace has no range to hold a guess against");
  if (range.empty())
    return fail(ErrorCode::usage,
                fmt::format("the trace has {} ranges and the guess names none", names.size()),
                fmt::format("[forward.\"{}\"] or range='{}'; there are: {}", names.front(), names.front(),
                            base::few_of(names)));
  return fail(ErrorCode::usage, fmt::format("the trace has no range '{}'", range),
              base::did_you_mean(range, names));
}

std::string first_findings(const Metric& metric, const std::string& range,
                           const std::vector<Finding>& findings) {
  std::string why;
  int told = 0;
  for (const auto rule : metric.explained_by)
    for (const auto& finding : findings) {
      if (finding.rule != rule || finding.range != range || told == 2) continue;
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", finding.rule, finding.claim);
      if (!finding.cause.empty()) why += fmt::format(" ({})", finding.cause);
      ++told;
    }
  return why;
}

// "cast x3, matmul x2": what the events are, for a miss that no finding explains.
std::string describe(const Analysis& a, const std::vector<EventId>& events) {
  std::vector<std::pair<std::string, int>> groups;
  for (const EventId event : events) {
    std::string name = trace::is_device_work(a.trace->kind[event]) ? element_name(a, event)
                                                                   : std::string(a.trace->name_of(event));
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (found == groups.end())
      groups.emplace_back(std::move(name), 1);
    else
      ++found->second;
  }
  std::string text;
  for (const auto& [name, count] : groups)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", name, count > 1 ? fmt::format(" x{}", count) : "");
  return text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The bound that a reference names: the median over the runs of the other range; nothing where unknown.
std::optional<double> reference_bound(const Metric& metric, const std::string& name, const Analysis& own,
                                      std::span<const Reference> others) {
  const Analysis* analysis = nullptr;
  const Forward* forward = nullptr;
  for (const auto& other : others)
    if (other.name == name && other.analysis != nullptr && !other.analysis->forwards.empty()) {
      analysis = other.analysis;
      forward = &analysis->forwards.front();
    }
  for (const auto& candidate : own.forwards)
    if (forward == nullptr && candidate.range == name) {
      analysis = &own;
      forward = &candidate;
    }
  if (forward == nullptr) return std::nullopt;
  std::vector<double> values;
  for (const auto& run : forward->runs)
    if (const auto m = metric.measure(*analysis, *forward, run); m.number) values.push_back(*m.number);
  if (values.empty()) return std::nullopt;
  return median(std::move(values));
}

double surprise_of(const Operand& operand, double value, double bound) {
  const double target =
      operand.relation == Relation::between ? std::clamp(value, operand.low, operand.high) : bound;
  const double big = std::max(std::abs(value), std::abs(target)) + 1;
  const double small = std::min(std::abs(value), std::abs(target)) + 1;
  return big / small;
}

std::string seen_of_runs(ValueKind kind, const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::string first = format_value(kind, *low);
  const std::string last = format_value(kind, *high);
  return first == last ? first : fmt::format("{}..{}", first, last);
}

void judge_numbers(Judged& judged, const Metric& metric, const Operand& operand, const Analysis& a,
                   const Forward& forward, std::span<const Reference> others) {
  Verdict& verdict = judged.verdict;
  std::optional<double> bound;
  if (!operand.reference.empty()) {
    bound = reference_bound(metric, operand.reference, a, others);
    if (!bound) {
      verdict.why = fmt::format("'{}' has no {} to compare with", operand.reference, metric.name);
      return;
    }
    verdict.expected += fmt::format(" ({})", format_value(metric.kind, *bound));
  }
  std::vector<double> values;
  std::vector<Measurement> measured;
  for (const auto& run : forward.runs) {
    Measurement m = metric.measure(a, forward, run);
    if (!m.number) {
      verdict.why = m.why;
      return;
    }
    values.push_back(*m.number);
    measured.push_back(std::move(m));
  }
  if (values.empty()) {
    verdict.why = "the range never ran";
    return;
  }
  // Counts must hold in every run. Times vary from run to run, so their median is judged.
  const bool by_median = metric.kind == ValueKind::time;
  const double middle = median(values);
  verdict.outcome = Outcome::holds;
  for (const auto& m : measured) {
    if (satisfies(metric.kind, operand, by_median ? middle : *m.number, bound)) continue;
    if (by_median && *m.number != middle) continue;  // the evidence is of the median run
    verdict.outcome = Outcome::misses;
    verdict.events = m.evidence;
    judged.surprise = surprise_of(operand, *m.number, bound.value_or(operand.low));
    break;
  }
  const std::string of = measured.back().why;
  verdict.seen = seen_of_runs(metric.kind, values);
  if (by_median && base::contains(verdict.seen, ".."))
    verdict.seen = fmt::format("{} ({})", format_value(metric.kind, middle), verdict.seen);
  if (!of.empty()) verdict.seen += fmt::format(" ({})", of);
}

void judge_words(Judged& judged, const Metric& metric, const Operand& operand, const Analysis& a,
                 const Forward& forward) {
  Verdict& verdict = judged.verdict;
  for (const auto& run : forward.runs) {
    Measurement m = metric.measure(a, forward, run);
    if (!m.text) {
      verdict = {verdict.range, verdict.metric, verdict.expected, {}, Outcome::unknown, m.why, {}};
      return;
    }
    if (verdict.outcome == Outcome::misses) continue;
    verdict.seen = *m.text;
    verdict.outcome = *m.text == operand.text ? Outcome::holds : Outcome::misses;
    if (verdict.outcome == Outcome::misses) {
      verdict.events = m.evidence;
      judged.surprise = 2;
    }
  }
  if (verdict.outcome == Outcome::unknown) verdict.why = "the range never ran";
}

void judge_sequence(Judged& judged, const Operand& operand, const Analysis& a, const Forward& forward) {
  Verdict& verdict = judged.verdict;
  if (forward.runs.empty()) {
    verdict.why = "the range never ran";
    return;
  }
  for (const auto& run : forward.runs) {
    const auto difference = align(operand.elements, a, run);
    verdict.seen = difference.seen;
    verdict.outcome = difference.equal() ? Outcome::holds : Outcome::misses;
    if (difference.equal()) continue;
    verdict.events = difference.extra;
    if (verdict.events.empty()) verdict.events = run.work;
    if (!difference.extra.empty())
      verdict.why = fmt::format("not guessed: {}", describe(a, difference.extra));
    if (!difference.missing.empty())
      verdict.why +=
          fmt::format("{}not run: {}", verdict.why.empty() ? "" : "; ", fmt::join(difference.missing, ", "));
    judged.surprise = 1 + static_cast<double>(difference.extra.size() + difference.missing.size());
    return;
  }
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::holds:
      return "holds";
    case Outcome::misses:
      return "misses";
    case Outcome::unknown:
      break;
  }
  return "unknown";
}

Result<std::vector<Verdict>> compare(const Guess& guess, const Analysis& analysis,
                                     const std::vector<Finding>& findings,
                                     std::span<const Reference> others) {
  std::vector<Judged> judged;
  for (const auto& expectation : guess.expectations) {
    HUNCH_ASSIGN(const Forward* forward, find_forward(analysis, expectation.range));
    const Metric* metric = find_metric(expectation.metric);
    HUNCH_CHECK(metric != nullptr, "an expectation that was parsed has a metric");
    HUNCH_ASSIGN(const Operand operand, parse_operand(metric->kind, expectation.expected));
    Judged& one = judged.emplace_back();
    one.verdict.range = forward->range;
    one.verdict.metric = expectation.metric;
    one.verdict.expected = expectation.expected;
    switch (metric->kind) {
      case ValueKind::sequence:
        judge_sequence(one, operand, analysis, *forward);
        break;
      case ValueKind::text:
      case ValueKind::flag:
        judge_words(one, *metric, operand, analysis, *forward);
        break;
      default:
        judge_numbers(one, *metric, operand, analysis, *forward, others);
    }
    if (one.verdict.outcome != Outcome::misses) continue;
    const std::string found = first_findings(*metric, forward->range, findings);
    std::string& why = one.verdict.why;
    if (!found.empty()) why += (why.empty() ? "" : "; ") + found;
    if (why.empty() && metric->kind == ValueKind::count) why = describe(analysis, one.verdict.events);
  }
  const auto rank = [](Outcome outcome) {
    return outcome == Outcome::misses ? 0 : outcome == Outcome::unknown ? 1 : 2;
  };
  std::stable_sort(judged.begin(), judged.end(), [&](const Judged& x, const Judged& y) {
    if (rank(x.verdict.outcome) != rank(y.verdict.outcome))
      return rank(x.verdict.outcome) < rank(y.verdict.outcome);
    return x.surprise > y.surprise;
  });
  std::vector<Verdict> verdicts;
  for (auto& one : judged) verdicts.push_back(std::move(one.verdict));
  return verdicts;
}

}  // namespace hunch::guess
