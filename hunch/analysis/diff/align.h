// Aligns two sequences of device work: which piece of one is the same step of the other.
//
// In:  two sequences of symbols, in launch order. Out: pairs of places, rising on both sides; what is in no
// pair vanished or appeared. Holds: only steps that can be the same are paired (score > 0); among all
// alignments the one with the highest sum of scores, for up to kMostCells of work; beyond, steps that stand
// only once on both sides are fixed first and the parts between are aligned on their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hunch::analysis::diff {

// A step, as numbers that are the same on both sides where the texts are.
struct Symbol {
  uint32_t exact = 0;   // op, family and kernel
  uint32_t step = 0;    // op and family
  uint32_t family = 0;  // a Family
  uint32_t op = 0;      // the op's word; 0: launched by no op
  uint32_t name = 0;    // the kernel's
  uint32_t grid = 0;    // its geometry
};

// How well two steps fit: 0 where they are not the same work. The same op and family fit, whatever kernel;
// attention and softmax fit under any op; a kernel without an op fits one of the same name.
int fit(const Symbol& a, const Symbol& b);

using Pair = std::pair<std::size_t, std::size_t>;
std::vector<Pair> align(std::span<const Symbol> a, std::span<const Symbol> b);

}  // namespace hunch::analysis::diff
