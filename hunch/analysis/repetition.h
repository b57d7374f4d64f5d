// The repetition that a sequence mostly consists of: something before, a body n times, something after.
//
// In:  symbols, each with a weight (how many device events it stands for). Out: the exact repetition, at
// least two full bodies in a row and more than half of all weight, that covers the most; of those that cover
// the same, the one with the shortest body. Nested repetition needs no rule of its own: the layers of one
// forward repeat inside that forward alone, the forwards cover all of their layers and what lies between.
// How:  whatever covers more than half covers the middle, so only repetitions through the middle count; two
// Z-functions from there find them all. O(n log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace hunch::analysis {

struct Repetition {
  std::size_t first = 0;   // body t is [first + t * period, first + (t + 1) * period)
  std::size_t period = 0;  // symbols of a body
  std::size_t count = 0;   // full bodies, >= 2
  std::size_t slack = 0;   // the same holds from first + 1, ... first + slack on: where a body begins is open

  std::size_t end() const { return first + count * period; }
};

// The best repetition that `accept` takes; asked in order, the best first. Weights are at least 1.
std::optional<Repetition> find_repetition(std::span<const uint32_t> symbols,
                                          std::span<const uint32_t> weights,
                                          const std::function<bool(const Repetition&)>& accept);

}  // namespace hunch::analysis
