// A forward as sequences of symbols that mean the same on both sides: its representative run, and for every
// other run which of its pieces is which step of that one.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/diff/align.h"

namespace hunch::analysis::diff {

// Numbers for texts, shared by the two traces; 0 is the empty text.
class Words {
 public:
  uint32_t of(std::string_view text);

 private:
  std::unordered_map<std::string, uint32_t> ids_;
};

// "masked_fill" of "aten::masked_fill_": without namespace, and in place or not the same step.
std::string_view step_word(std::string_view op);

// The run with the median device time: of an even number the lower, of equals the first.
std::size_t representative_run(const Forward& forward);

struct Steps {
  const Analysis* analysis = nullptr;
  const Forward* forward = nullptr;
  std::size_t run = 0;                       // the representative one
  std::vector<Symbol> symbols;               // of it, in launch order
  std::vector<std::vector<EventId>> in_run;  // [run][step]: that run's piece for the step, or kNone

  const std::vector<EventId>& work() const { return forward->runs[run].work; }
  // The step that a device event of any run is; nothing where it is none.
  std::unordered_map<EventId, std::size_t> step_of() const;
};

Steps make_steps(const Analysis& analysis, const Forward& forward, Words& words);

}  // namespace hunch::analysis::diff
