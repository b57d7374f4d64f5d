// Dynamic programming over both sequences, after what is equal at both ends is taken off. Scores are kept for
// two rows, decisions as one byte a cell. See the header for what happens to sequences too long for that.
#include "hunch/analysis/diff/align.h"

#include <algorithm>
#include <unordered_map>

#include "hunch/analysis/kernel_names.h"

namespace hunch::analysis::diff {
namespace {

constexpr std::size_t kMostCells = 32'000'000;

bool fits_under_any_op(uint32_t family) {
  switch (static_cast<Family>(family)) {
    case Family::attention_forward:
    case Family::attention_backward:
    case Family::attention_combine:
    case Family::softmax:
      return true;
    default:
      return false;
  }
}

class Aligner {
 public:
  Aligner(std::span<const Symbol> a, std::span<const Symbol> b) : a_(a), b_(b) {}

  std::vector<Pair> align() {
    between(0, a_.size(), 0, b_.size());
    return std::move(pairs_);
  }

 private:
  void between(std::size_t a, std::size_t a_end, std::size_t b, std::size_t b_end) {
    while (a < a_end && b < b_end && same(a, b)) pairs_.emplace_back(a++, b++);
    std::size_t tail = 0;
    while (a < a_end && b < b_end && same(a_end - 1, b_end - 1)) --a_end, --b_end, ++tail;
    if (a < a_end && b < b_end) {
      if ((a_end - a) <= kMostCells / (b_end - b))
        best(a, a_end, b, b_end);
      else
        divide(a, a_end, b, b_end);
    }
    for (std::size_t i = 0; i < tail; ++i) pairs_.emplace_back(a_end + i, b_end + i);
  }

  bool same(std::size_t a, std::size_t b) const {
    return a_[a].exact == b_[b].exact && a_[a].grid == b_[b].grid;
  }

  void best(std::size_t a, std::size_t a_end, std::size_t b, std::size_t b_end) {
    enum : uint8_t { pair, skip_a, skip_b };
    const std::size_t rows = a_end - a, columns = b_end - b;
    std::vector<int> next(columns + 1, 0), now(columns + 1, 0);
    std::vector<uint8_t> decision(rows * columns);
    for (std::size_t i = rows; i-- > 0;) {
      now[columns] = 0;
      for (std::size_t j = columns; j-- > 0;) {
        const int score = fit(a_[a + i], b_[b + j]);
        int most = next[j];
        uint8_t chosen = skip_a;
        if (now[j + 1] > most) most = now[j + 1], chosen = skip_b;
        if (score > 0 && score + next[j + 1] >= most) most = score + next[j + 1], chosen = pair;
        now[j] = most;
        decision[i * columns + j] = chosen;
      }
      std::swap(now, next);
    }
    for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
      switch (decision[i * columns + j]) {
        case pair:
          pairs_.emplace_back(a + i++, b + j++);
          break;
        case skip_a:
          ++i;
          break;
        default:
          ++j;
      }
    }
  }

  // Runs of steps that stand once on either side are fixed; without any, both are cut in the middle.
  void divide(std::size_t a, std::size_t a_end, std::size_t b, std::size_t b_end) {
    std::vector<Pair> fixed = anchors(a, a_end, b, b_end);
    if (fixed.empty()) {
      const std::size_t a_middle = a + (a_end - a) / 2, b_middle = b + (b_end - b) / 2;
      if (a_middle == a || b_middle == b) return;
      between(a, a_middle, b, b_middle);
      between(a_middle, a_end, b_middle, b_end);
      return;
    }
    for (const auto& [at_a, at_b] : fixed) {
      if (at_a < a || at_b < b) continue;
      between(a, at_a, b, at_b);
      pairs_.emplace_back(at_a, at_b);
      a = at_a + 1;
      b = at_b + 1;
    }
    between(a, a_end, b, b_end);
  }

  static constexpr std::size_t kRun = 6;  // steps that must be the same in a row

  uint64_t run_at(std::span<const Symbol> of, std::size_t at) const {
    uint64_t hash = 1469598103934665603ULL;
    for (std::size_t i = 0; i < kRun; ++i)
      hash = (hash ^ of[at + i].exact ^ (uint64_t{of[at + i].grid} << 32)) * 1099511628211ULL;
    return hash;
  }

  std::vector<Pair> anchors(std::size_t a, std::size_t a_end, std::size_t b, std::size_t b_end) const {
    struct Seen {
      std::size_t at_a = 0, at_b = 0;
      uint32_t in_a = 0, in_b = 0;
    };
    std::unordered_map<uint64_t, Seen> seen;
    for (std::size_t i = a; i + kRun <= a_end; ++i) {
      Seen& one = seen[run_at(a_, i)];
      one.at_a = i;
      ++one.in_a;
    }
    for (std::size_t j = b; j + kRun <= b_end; ++j) {
      const auto found = seen.find(run_at(b_, j));
      if (found == seen.end()) continue;
      found->second.at_b = j;
      ++found->second.in_b;
    }
    std::vector<Pair> once;
    for (const auto& [hash, one] : seen)
      if (one.in_a == 1 && one.in_b == 1 && same(one.at_a, one.at_b)) once.emplace_back(one.at_a, one.at_b);
    std::sort(once.begin(), once.end());
    return rising(once);
  }

  // The longest part of `pairs` (by first) that rises by second as well.
  static std::vector<Pair> rising(const std::vector<Pair>& pairs) {
    constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
    std::vector<std::size_t> ends, before(pairs.size(), kNothing);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto place = std::lower_bound(ends.begin(), ends.end(), i, [&](std::size_t x, std::size_t y) {
        return pairs[x].second < pairs[y].second;
      });
      if (place != ends.begin()) before[i] = *(place - 1);
      if (place == ends.end())
        ends.push_back(i);
      else
        *place = i;
    }
    std::vector<Pair> chosen;
    for (std::size_t at = ends.empty() ? kNothing : ends.back(); at != kNothing; at = before[at])
      chosen.push_back(pairs[at]);
    std::reverse(chosen.begin(), chosen.end());
    return chosen;
  }

  std::span<const Symbol> a_, b_;
  std::vector<Pair> pairs_;
};

}  // namespace

int fit(const Symbol& a, const Symbol& b) {
  if (a.exact == b.exact) return a.grid == b.grid ? 12 : 11;
  if (a.step == b.step) return a.op == 0 ? 0 : 9;  // without an op, only the name tells
  if (a.family != b.family) return 0;
  if ((a.op == 0 || b.op == 0) && a.name == b.name) return 8;
  return fits_under_any_op(a.family) ? 5 : 0;
}

std::vector<Pair> align(std::span<const Symbol> a, std::span<const Symbol> b) {
  return Aligner(a, b).align();
}

}  // namespace hunch::analysis::diff
