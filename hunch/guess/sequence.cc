#include "hunch/guess/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hunch::guess {
namespace {

using analysis::Analysis;
using analysis::EventId;
using analysis::Family;

// "aten::masked_fill_" and "hunch::masked_fill" to "masked_fill".
std::string_view bare(std::string_view op) {
  if (const auto colons = op.rfind("::"); colons != std::string_view::npos) op.remove_prefix(colons + 2);
  while (op.size() > 1 && op.ends_with('_')) op.remove_suffix(1);
  return op;
}

enum class Match { none, by_op, by_family };

Match match(const std::string& element, const Analysis& a, EventId event) {
  const bool copy = a.trace->kind[event] == trace::EventKind::memcpy;
  const auto family = copy ? Family::memcpy : a.facts_of(event).family;
  if (analysis::name_of(family) == element) return Match::by_family;
  const auto wanted = bare(element);
  for (const EventId op : analysis::op_stack(*a.trace, a.timeline, event))
    if (a.trace->name_of(op) == element || bare(a.trace->name_of(op)) == wanted) return Match::by_op;
  return Match::none;
}

}  // namespace

std::string element_name(const Analysis& a, EventId event) {
  if (a.trace->kind[event] == trace::EventKind::memcpy) return "memcpy";
  const auto family = a.facts_of(event).family;
  const auto op = bare(a.outer_op(event));
  // A family such as "elementwise" says less than the op that launched it.
  const bool vague = family == Family::elementwise || family == Family::unnamed ||
                     family == Family::unknown || family == Family::copy;
  if (vague && !op.empty()) return std::string(op);
  return std::string(analysis::name_of(family));
}

namespace {

// Each element takes the next event that matches it, unless that is far: then it is missing.
void align_by_steps(const std::vector<std::string>& guessed, const Analysis& a,
                    const std::vector<EventId>& events, SequenceDifference& difference) {
  constexpr std::size_t kFar = 1000;
  auto next = events.begin();
  for (const std::string& element : guessed) {
    const auto left = static_cast<std::size_t>(events.end() - next);
    const auto end = next + static_cast<std::ptrdiff_t>(std::min(left, kFar));
    const auto found =
        std::find_if(next, end, [&](EventId event) { return match(element, a, event) != Match::none; });
    if (found == end) {
      difference.missing.push_back(element);
      continue;
    }
    difference.extra.insert(difference.extra.end(), next, found);
    next = found + 1;
  }
  difference.extra.insert(difference.extra.end(), next, events.end());
}

}  // namespace

SequenceDifference align(const std::vector<std::string>& guessed, const Analysis& a,
                         const analysis::ForwardRun& run) {
  std::vector<EventId> events;
  for (const EventId event : run.work)
    if (a.trace->kind[event] != trace::EventKind::memset) events.push_back(event);

  SequenceDifference difference;
  constexpr std::size_t kMostSeen = 500;
  for (std::size_t i = 0; i < std::min(events.size(), kMostSeen); ++i)
    difference.seen += (i == 0 ? "" : ", ") + element_name(a, events[i]);
  if (events.size() > kMostSeen) difference.seen += fmt::format(", and {} more", events.size() - kMostSeen);

  // The table below takes their product; a guess for a whole trace is aligned step by step.
  constexpr std::size_t kMostCells = std::size_t{1} << 24;
  if (guessed.size() > kMostCells / std::max<std::size_t>(events.size(), 1)) {
    align_by_steps(guessed, a, events, difference);
    return difference;
  }

  // Longest common subsequence; the weight puts the number of matches first and lets family break ties.
  constexpr int64_t kMatch = 1 << 20;
  const std::size_t n = guessed.size();
  const std::size_t m = events.size();
  std::vector<int64_t> weight(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      const Match how = match(guessed[i], a, events[j]);
      weight[i * m + j] = how == Match::none ? 0 : kMatch + (how == Match::by_family ? 1 : 0);
    }
  std::vector<int64_t> best((n + 1) * (m + 1), 0);
  const auto cell = [&](std::size_t i, std::size_t j) -> int64_t& { return best[i * (m + 1) + j]; };
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t j = m; j-- > 0;) {
      cell(i, j) = std::max(cell(i + 1, j), cell(i, j + 1));
      if (weight[i * m + j] > 0) cell(i, j) = std::max(cell(i, j), weight[i * m + j] + cell(i + 1, j + 1));
    }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < n && j < m) {
    if (weight[i * m + j] > 0 && cell(i, j) == weight[i * m + j] + cell(i + 1, j + 1)) {
      ++i;
      ++j;
    } else if (cell(i, j) == cell(i, j + 1)) {
      difference.extra.push_back(events[j++]);
    } else {
      difference.missing.push_back(guessed[i++]);
    }
  }
  for (; j < m; ++j) difference.extra.push_back(events[j]);
  for (; i < n; ++i) difference.missing.push_back(guessed[i]);
  return difference;
}

}  // namespace hunch::guess
