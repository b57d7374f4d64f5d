// Symbols by a trie of names, and the choices that exact repetition leaves open: where in the period a body
// begins, and to which body a copy belongs that not all bodies have. See work_sequence.h.
#include "hunch/analysis/work_sequence.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

constexpr uint32_t kShortBody = 4;     // bodies with fewer events need more proof
constexpr std::size_t kManyTimes = 8;  // this many repeats are one

}  // namespace

void sort_by_launch(const Trace& trace, const Timeline& timeline, std::vector<EventId>& work) {
  const auto key = [&](EventId event) {
    const EventId call = timeline.launch[event];
    return std::tuple(trace.start[call == kNone ? event : call], call, trace.start[event], event);
  };
  std::sort(work.begin(), work.end(), [&key](EventId a, EventId b) { return key(a) < key(b); });
}

WorkSequence::WorkSequence(const Trace& trace, const Timeline& timeline, std::span<const EventId> work,
                           bool calls_whole)
    : trace_(trace), timeline_(timeline), work_(work) {
  std::vector<uint32_t> keys, kernel_keys;
  for (std::size_t i = 0; i < work.size();) {
    Item item;
    item.begin = i;
    item.call = timeline.launch[work[i]];
    keys.clear();
    kernel_keys.clear();
    do {
      // Kinds apart from each other: a name tells them in general, not in every trace.
      const auto kind = static_cast<uint32_t>(trace.kind[work[i]]) - static_cast<uint32_t>(EventKind::kernel);
      keys.push_back(trace.name[work[i]] * 3 + kind);
      if (trace.kind[work[i]] == EventKind::kernel) kernel_keys.push_back(keys.back());
      ++i;
    } while (calls_whole && i < work.size() && of_one_call(work[item.begin], work[i]));
    item.end = i;
    item.kernels = static_cast<uint32_t>(kernel_keys.size());
    std::sort(keys.begin(), keys.end());
    std::sort(kernel_keys.begin(), kernel_keys.end());
    item.symbol = symbol_of(keys);
    item.kernels_symbol = symbol_of(kernel_keys);
    items_.push_back(item);
  }
}

bool WorkSequence::of_one_call(EventId a, EventId b) const {
  if (timeline_.launch[a] != timeline_.launch[b]) return false;
  return timeline_.launch[a] != kNone ||
         (trace_.correlation[a] != 0 && trace_.correlation[a] == trace_.correlation[b]);
}

uint32_t WorkSequence::symbol_of(std::span<const uint32_t> keys) {
  uint32_t symbol = 0;
  for (const uint32_t key : keys)
    symbol = symbols_.emplace((static_cast<uint64_t>(symbol) << 32) | key, symbols_.size() + 1).first->second;
  return symbol;
}

std::span<const EventId> WorkSequence::work_of(std::size_t begin_item, std::size_t end_item) const {
  if (begin_item >= end_item) return {};
  const std::size_t begin = items_[begin_item].begin;
  return work_.subspan(begin, items_[end_item - 1].end - begin);
}

std::optional<Bodies> WorkSequence::find_bodies(const Accept& accept) const {
  auto all = find(false, accept);
  auto kernels = find(true, accept);
  const auto covered = [](const std::optional<Bodies>& found) {
    return found ? found->kernels * static_cast<int64_t>(found->bodies.size()) : 0;
  };
  if (covered(kernels) <= covered(all)) return all;
  place_copies(*kernels);
  return kernels;
}

std::optional<Bodies> WorkSequence::find(bool kernels_only, const Accept& accept) const {
  std::vector<std::size_t> of;  // the items that take part
  std::vector<uint32_t> symbols, weights;
  std::vector<uint64_t> kernels_before(1, 0), weight_before(1, 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (kernels_only && item.kernels == 0) continue;
    of.push_back(i);
    symbols.push_back(kernels_only ? item.kernels_symbol : item.symbol);
    weights.push_back(kernels_only ? item.kernels : item.size());
    kernels_before.push_back(kernels_before.back() + item.kernels);
    weight_before.push_back(weight_before.back() + weights.back());
  }
  if (kernels_only && of.size() == items_.size()) return std::nullopt;  // nothing but kernels: asked already

  const auto proven = [&](const Repetition& r) {
    if (kernels_before[r.first + r.period] == kernels_before[r.first]) return false;
    if (weight_before[r.first + r.period] - weight_before[r.first] >= kShortBody) return true;
    if (r.first == 0 && r.end() == of.size()) return true;
    if (r.count < kManyTimes) return false;
    std::set<uint32_t> names;
    const auto visit = [&](std::size_t from, std::size_t to, const auto& each) {
      for (std::size_t i = from; i < to; ++i)
        for (std::size_t w = items_[of[i]].begin; w < items_[of[i]].end; ++w) each(trace_.name[work_[w]]);
    };
    bool apart = true;
    visit(r.first, r.first + r.period, [&](uint32_t name) { names.insert(name); });
    const auto check = [&](uint32_t name) { apart = apart && names.count(name) == 0; };
    visit(0, r.first, check);
    visit(r.end(), of.size(), check);
    return apart;
  };
  const auto found = find_repetition(symbols, weights, [&](const Repetition& r) {
    return proven(r) && accept(of[r.first], of[r.first + r.period - 1] + 1, of[r.end() - 1] + 1);
  });
  if (!found) return std::nullopt;

  Bodies result;
  result.kernels_only = kernels_only;
  result.slack = found->slack;
  const std::size_t start = best_start(*found, of);
  for (std::size_t t = 0; t < found->count; ++t)
    result.bodies.push_back({of[start + t * found->period], of[start + (t + 1) * found->period - 1] + 1});
  result.kernels =
      static_cast<int64_t>(kernels_before[found->first + found->period] - kernels_before[found->first]);
  return result;
}

// Where the period leaves open at which of its items a body begins: where the fewest ops reach over the
// borders, and of those at the first, unless the gaps between the bodies are at least twice as long
// elsewhere.
std::size_t WorkSequence::best_start(const Repetition& r, const std::vector<std::size_t>& of) const {
  struct Start {
    std::size_t at = 0, cut = SIZE_MAX;  // ops that reach over a border
    Ns gap = 0;                          // the shortest between two bodies
  };
  Start first, widest;
  for (std::size_t at = r.first; at <= r.first + r.slack; ++at) {
    Start start{at, 0, INT64_MAX};
    for (std::size_t t = 0; t <= r.count; ++t) {
      const std::size_t border = at + t * r.period;
      if (border == 0 || border >= of.size()) continue;
      const EventId op = top_op(of[border]);
      if (op != kNone && op == top_op(of[border - 1])) ++start.cut;
      if (t > 0 && t < r.count) start.gap = std::min(start.gap, gap_before(of[border]));
    }
    if (start.cut < first.cut) first = widest = start;
    if (start.cut == first.cut && start.gap > widest.gap) widest = start;
  }
  return widest.gap / 2 >= std::max<Ns>(first.gap, 1) ? widest.at : first.at;
}

// The outermost op around an item's launch, or kNone.
EventId WorkSequence::top_op(std::size_t item) const {
  EventId top = kNone;
  for (EventId at = items_[item].call; at != kNone; at = timeline_.parent[at])
    if (trace_.kind[at] == EventKind::op) top = at;
  return top;
}

// Between two launches or, where the trace lacks one of them, between the work itself.
Ns WorkSequence::gap_before(std::size_t item) const {
  const Item &before = items_[item - 1], &after = items_[item];
  if (before.call != kNone && after.call != kNone) return trace_.start[after.call] - trace_.end(before.call);
  return trace_.start[work_[after.begin]] - trace_.end(work_[before.end - 1]);
}

// Bodies found by kernels alone: each item between two bodies goes to the one whose op it shares; else a
// memset belongs to the kernel after it, a copy to the device as well, and any other to the kernel before.
// Before the first body and after the last only what shares an op with its kernels joins.
void WorkSequence::place_copies(Bodies& found) const {
  const auto same_op = [this](std::size_t a, std::size_t b) {
    const EventId op = top_op(a);
    return op != kNone && op == top_op(b);
  };
  const auto opens = [this](std::size_t item) {
    const EventId event = work_[items_[item].begin];
    return trace_.kind[event] == EventKind::memset || base::contains(trace_.name_of(event), "HtoD");
  };
  auto& bodies = found.bodies;
  while (bodies.front().begin > 0 && same_op(bodies.front().begin - 1, bodies.front().begin) &&
         items_[bodies.front().begin - 1].kernels == 0)
    --bodies.front().begin;
  while (bodies.back().end < items_.size() && same_op(bodies.back().end, bodies.back().end - 1) &&
         items_[bodies.back().end].kernels == 0)
    ++bodies.back().end;
  for (std::size_t t = 0; t + 1 < bodies.size(); ++t) {
    const std::size_t last = bodies[t].end - 1, next = bodies[t + 1].begin;
    std::size_t cut = last + 1;
    while (cut < next && (same_op(cut, last) || (!same_op(cut, next) && !opens(cut)))) ++cut;
    bodies[t].end = cut;
    bodies[t + 1].begin = cut;
  }
}

}  // namespace hunch::analysis
