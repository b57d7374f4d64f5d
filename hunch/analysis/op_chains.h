// The ops around each launch, as chains of names: of the many launches of a trace only few differ in them, so
// what a rule or a report reads from the names is worked out once a chain or is a look at a short list.
//
// In:  the links of a timeline. Out: for each device event the chain of its launch; chain 0 is the empty one.
// Holds: a chain goes from the outermost op below the innermost range to the innermost op; where that range
// holds no op, the next range outwards counts. Numbers are in order of first use by start of device work.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

class OpChains {
 public:
  OpChains() = default;
  OpChains(const trace::Trace& trace, const Timeline& timeline);

  std::size_t size() const { return begin_.empty() ? 0 : begin_.size() - 1; }
  uint32_t of(EventId device_event) const { return chain_[device_event]; }  // 0 for host events

  // Outermost first. A word is a name without its namespace: "masked_fill" of "aten::masked_fill".
  std::span<const trace::StringId> names(uint32_t chain) const {
    return {names_.data() + begin_[chain], begin_[chain + 1] - begin_[chain]};
  }
  std::span<const std::string_view> words(uint32_t chain) const {
    return {words_.data() + begin_[chain], begin_[chain + 1] - begin_[chain]};
  }

 private:
  std::vector<uint32_t> chain_;  // by EventId
  std::vector<uint32_t> begin_;  // by chain: into names_ and words_; one more at the end
  std::vector<trace::StringId> names_;
  std::vector<std::string_view> words_;
};

// "masked_fill" of "aten::masked_fill".
std::string_view op_word(std::string_view op);

}  // namespace hunch::analysis
