// Repetitions through the middle, each found by its period; see repetition.h.
#include "hunch/analysis/repetition.h"

#include <algorithm>
#include <vector>

namespace hunch::analysis {
namespace {

// z[i]: how many symbols from i on equal those at the beginning.
std::vector<uint32_t> z_function(const std::vector<uint32_t>& text) {
  std::vector<uint32_t> z(text.size(), 0);
  std::size_t left = 0, right = 0;  // the match found so far that reaches furthest
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::size_t length = i < right ? std::min<std::size_t>(right - i, z[i - left]) : 0;
    while (i + length < text.size() && text[length] == text[i + length]) ++length;
    z[i] = static_cast<uint32_t>(length);
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
  return z;
}

// Z of pattern, a symbol that occurs nowhere, text.
std::vector<uint32_t> matches(std::vector<uint32_t> pattern, std::span<const uint32_t> text, bool reversed) {
  if (reversed) std::reverse(pattern.begin(), pattern.end());
  pattern.push_back(UINT32_MAX);
  if (reversed)
    pattern.insert(pattern.end(), text.rbegin(), text.rend());
  else
    pattern.insert(pattern.end(), text.begin(), text.end());
  return z_function(pattern);
}

struct Candidate {
  Repetition repetition;
  uint64_t covered;
};

class Finder {
 public:
  Finder(std::span<const uint32_t> symbols, std::span<const uint32_t> weights)
      : size_(symbols.size()), weight_before_(symbols.size() + 1, 0) {
    for (std::size_t i = 0; i < size_; ++i) weight_before_[i + 1] = weight_before_[i] + weights[i];
    while (middle_ + 1 < size_ && 2 * weight_before_[middle_ + 1] < weight_before_[size_]) ++middle_;
    const auto middle = symbols.begin() + static_cast<std::ptrdiff_t>(middle_);
    forward_ = matches(std::vector<uint32_t>(middle, symbols.end()), symbols, false);
    backward_ = matches(std::vector<uint32_t>(symbols.begin(), middle), symbols, true);
  }

  std::vector<Candidate> all() {
    for (std::size_t period = 1; period <= size_ / 2; ++period) {
      if (middle_ + period < size_) add(middle_, middle_ + period, period);
      if (middle_ >= period) add(middle_ - period, middle_ - period, period);
    }
    std::sort(found_.begin(), found_.end(), [](const Candidate& a, const Candidate& b) {
      if (a.covered != b.covered) return a.covered > b.covered;
      if (a.repetition.period != b.repetition.period) return a.repetition.period < b.repetition.period;
      return a.repetition.first < b.repetition.first;
    });
    return std::move(found_);
  }

 private:
  // The longest stretch around symbol `at`, whose partner lies one period later, in which each symbol equals
  // its partner. `other` is that one of the two which is not in the middle.
  void add(std::size_t at, std::size_t other, std::size_t period) {
    const std::size_t ahead = forward_[size_ - middle_ + 1 + other];
    if (ahead == 0) return;
    const std::size_t back = other == 0 ? 0 : backward_[middle_ + 1 + size_ - other];
    Repetition repetition;
    repetition.first = at - back;
    repetition.period = period;
    const std::size_t length = back + ahead + period;
    repetition.count = length / period;
    repetition.slack = length % period;
    if (repetition.count < 2) return;
    const uint64_t covered = weight_before_[repetition.end()] - weight_before_[repetition.first];
    if (2 * covered > weight_before_[size_]) found_.push_back({repetition, covered});
  }

  std::size_t size_;
  std::vector<uint64_t> weight_before_;
  std::size_t middle_ = 0;  // half of the weight lies up to here, half from here on
  std::vector<uint32_t> forward_, backward_;
  std::vector<Candidate> found_;
};

}  // namespace

std::optional<Repetition> find_repetition(std::span<const uint32_t> symbols,
                                          std::span<const uint32_t> weights,
                                          const std::function<bool(const Repetition&)>& accept) {
  if (symbols.size() < 2) return std::nullopt;
  for (const Candidate& candidate : Finder(symbols, weights).all())
    if (accept(candidate.repetition)) return candidate.repetition;
  return std::nullopt;
}

}  // namespace hunch::analysis
