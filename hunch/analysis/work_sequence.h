// Device work as a sequence of symbols, in which repetition can be looked for.
//
// A symbol is what one launch call launched: the same names, the same symbol. The many kernels of a graph
// replay are one symbol, whatever order the device took them in, so that no body ever cuts a replay. Work
// without a launch call in the trace is a symbol for each piece, but pieces in a row with one correlation are
// one call's all the same.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "hunch/analysis/repetition.h"
#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

// Sorts by launch; work without a call by its own start; the work of one call stays together.
void sort_by_launch(const trace::Trace& trace, const Timeline& timeline, std::vector<EventId>& work);

struct Item {
  std::size_t begin = 0, end = 0;  // into the work
  EventId call = kNone;
  uint32_t symbol = 0;
  uint32_t kernels_symbol = 0;  // of its kernels alone; 0 where it has none
  uint32_t kernels = 0;

  uint32_t size() const { return static_cast<uint32_t>(end - begin); }
};

// The bodies of a repetition over items: the last of body t lies before the first of body t + 1.
struct Bodies {
  struct Body {
    std::size_t begin, end;  // into the items
  };
  std::vector<Body> bodies;
  int64_t kernels = 0;        // of each body
  std::size_t slack = 0;      // see Repetition
  bool kernels_only = false;  // copies and memsets differ between the bodies
};

class WorkSequence {
 public:
  // `work` sorted by launch. With `calls_whole` false each piece is a symbol of its own, a replay's as well.
  WorkSequence(const trace::Trace& trace, const Timeline& timeline, std::span<const EventId> work,
               bool calls_whole = true);

  const std::vector<Item>& items() const { return items_; }
  std::span<const EventId> work_of(std::size_t begin_item, std::size_t end_item) const;

  // The repetition that covers more than half of the work: of all work or, where that covers more kernels, of
  // kernels alone. Never a body without kernels. A body of one to three events proves little (the products of
  // q, k and v follow each other in any forward): it must be all that there is, or come often and nowhere
  // else. `accept` (first item, items a body, items up to the end of the last body) may refuse more.
  using Accept = std::function<bool(std::size_t first, std::size_t body_end, std::size_t end)>;
  std::optional<Bodies> find_bodies(const Accept& accept) const;

 private:
  bool of_one_call(EventId a, EventId b) const;
  uint32_t symbol_of(std::span<const uint32_t> keys);
  std::optional<Bodies> find(bool kernels_only, const Accept& accept) const;
  void place_copies(Bodies& found) const;
  EventId top_op(std::size_t item) const;
  Ns gap_before(std::size_t item) const;
  std::size_t best_start(const Repetition& repetition, const std::vector<std::size_t>& of) const;

  const trace::Trace& trace_;
  const Timeline& timeline_;
  std::span<const EventId> work_;
  std::vector<Item> items_;
  std::unordered_map<uint64_t, uint32_t> symbols_;  // a symbol and one more key: the longer symbol
};

}  // namespace hunch::analysis
