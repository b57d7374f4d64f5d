// See the header. The bounds: 5 % (3 % from five runs on) is what the same kernels of one program differ by
// from one recording to the next; 100 ns a kernel is a few steps of the device's clock; 25 % is large.
#include "hunch/analysis/diff/noise.h"

#include <algorithm>
#include <cstdlib>

namespace hunch::analysis::diff {
namespace {

constexpr double kFewRunsPct = 5, kManyRunsPct = 3, kOneRunPct = 25;
constexpr int64_t kManyRuns = 5;
constexpr int64_t kClockNs = 100, kOneRunNs = 1000;

bool apart(const Sample& a, const Sample& b) { return a.max < b.min || b.max < a.min; }

Verdict verdict(bool claimed, const Sample& before, const Sample& after, bool one_run) {
  Verdict result;
  result.one_run = one_run;
  result.judgement = !claimed                       ? Judgement::within_noise
                     : after.median > before.median ? Judgement::more
                                                    : Judgement::less;
  return result;
}

bool equal(const Sample& a, const Sample& b) {
  return a.value == b.value && a.min == b.min && a.median == b.median && a.max == b.max;
}

}  // namespace

std::string_view name_of(Judgement judgement) {
  switch (judgement) {
    case Judgement::same:
      return "same";
    case Judgement::within_noise:
      return "within noise";
    case Judgement::less:
      return "less";
    case Judgement::more:
      return "more";
  }
  return "same";
}

Sample Sample::of(int64_t value, std::vector<int64_t> values) {
  if (values.empty()) return {value, value, value, value, 0};
  std::sort(values.begin(), values.end());
  return {value, values.front(), values[(values.size() - 1) / 2], values.back(),
          static_cast<int64_t>(values.size())};
}

Verdict judge_time(const Sample& before, const Sample& after, int64_t calls) {
  const int64_t fewest = std::min(before.runs, after.runs);
  const bool one_run = fewest <= 1;
  if (equal(before, after)) return {Judgement::same, one_run};
  const int64_t difference = std::abs(after.median - before.median);
  const auto floor_of = [&](double percent, int64_t ns) {
    const auto share =
        static_cast<int64_t>(percent / 100.0 * static_cast<double>(std::max(before.median, after.median)));
    return std::max(share, ns * std::max<int64_t>(calls, 1));
  };
  const int64_t spreads = before.spread() + after.spread();
  if (one_run)
    return verdict(
        apart(before, after) && difference > 3 * spreads && difference >= floor_of(kOneRunPct, kOneRunNs),
        before, after, true);
  const double percent = fewest >= kManyRuns ? kManyRunsPct : kFewRunsPct;
  return verdict(apart(before, after) && difference > spreads && difference >= floor_of(percent, kClockNs),
                 before, after, false);
}

Verdict judge_count(const Sample& before, const Sample& after) {
  if (equal(before, after)) return {Judgement::same, false};
  return verdict(apart(before, after), before, after, std::min(before.runs, after.runs) <= 1);
}

}  // namespace hunch::analysis::diff
