// Whether two sets of measured values differ beyond what their runs scatter.
//
// Conservative where runs are few: a claim needs a difference of the medians larger than both spreads
// together, larger than what two recordings of the same thing differ by (clocks, temperature: no spread
// inside one recording shows those), and sets that do not overlap. One run has no spread: there only a large
// difference is claimed, and marked as such.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hunch::analysis::diff {

enum class Judgement {
  same,          // equal in every run
  within_noise,  // not told apart
  less,          // beyond noise
  more,
};
std::string_view name_of(Judgement judgement);  // "same", "within noise", "less", "more"

// A value over the runs of one side.
struct Sample {
  int64_t value = 0;  // of the representative run
  int64_t min = 0, median = 0, max = 0;
  int64_t runs = 0;  // how many of them have it

  static Sample of(int64_t value, std::vector<int64_t> values);
  int64_t spread() const { return max - min; }
};

struct Verdict {
  Judgement judgement = Judgement::same;
  bool one_run = false;  // one side has a single run, so no spread

  bool differs() const { return judgement == Judgement::less || judgement == Judgement::more; }
};

// Times in ns. `calls`: how many kernels the value is the sum of; short ones scatter by the clock's steps.
Verdict judge_time(const Sample& before, const Sample& after, int64_t calls = 1);
// Counts and bytes: exact, so they differ where the runs of the two sides do not overlap.
Verdict judge_count(const Sample& before, const Sample& after);

}  // namespace hunch::analysis::diff
