// A stable merge sort of event ids that uses the order already there. Traces come as a few long sorted
// stretches (all ops, then all calls, then all kernels; recordings one after another), so merging those
// costs close to one pass, with 8 bytes an event and sequential reads, where a general sort would jump
// through the columns. At most O(n log n) comparisons on any input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hunch::analysis {

namespace natural_sort_detail {

inline constexpr std::size_t kShortRun = 24;  // shorter stretches are grown to this by insertion

template <class Less>
std::size_t end_of_run(std::span<uint32_t> ids, std::size_t begin, const Less& less) {
  std::size_t end = begin + 1;
  while (end < ids.size() && !less(ids[end], ids[end - 1])) ++end;
  const std::size_t wanted = std::min(ids.size(), begin + kShortRun);
  for (; end < wanted; ++end) {
    const uint32_t id = ids[end];
    std::size_t at = end;
    for (; at > begin && less(id, ids[at - 1]); --at) ids[at] = ids[at - 1];
    ids[at] = id;
  }
  return end;
}

// Merges [begin, middle) and [middle, end), both sorted; touches only the part where they overlap.
template <class Less>
void merge_runs(std::span<uint32_t> ids, std::size_t begin, std::size_t middle, std::size_t end,
                std::vector<uint32_t>& scratch, const Less& less) {
  auto* const base = ids.data();
  auto* const left = std::upper_bound(base + begin, base + middle, base[middle], less);
  if (left == base + middle) return;
  auto* const right_end = std::lower_bound(base + middle, base + end, base[middle - 1], less);
  scratch.assign(left, base + middle);
  uint32_t* out = left;
  const uint32_t* a = scratch.data();
  const uint32_t* const a_end = a + scratch.size();
  const uint32_t* b = base + middle;
  while (a != a_end && b != right_end) *out++ = less(*b, *a) ? *b++ : *a++;
  std::copy(a, a_end, out);  // what is left of b lies in its place already
}

}  // namespace natural_sort_detail

// Sorts `ids` by `less`, a strict weak order of two ids. `scratch` is room that calls may share.
template <class Less>
void natural_sort(std::span<uint32_t> ids, std::vector<uint32_t>& scratch, const Less& less) {
  using namespace natural_sort_detail;
  struct Run {
    std::size_t begin, end;
  };
  std::vector<Run> runs;
  const auto merge_last_two = [&] {
    const Run right = runs.back();
    runs.pop_back();
    merge_runs(ids, runs.back().begin, right.begin, right.end, scratch, less);
    runs.back().end = right.end;
  };
  for (std::size_t begin = 0; begin < ids.size();) {
    const std::size_t end = end_of_run(ids, begin, less);
    runs.push_back({begin, end});
    begin = end;
    while (runs.size() > 1 && runs[runs.size() - 2].end - runs[runs.size() - 2].begin <
                                  2 * (runs.back().end - runs.back().begin))
      merge_last_two();
  }
  while (runs.size() > 1) merge_last_two();
}

}  // namespace hunch::analysis
