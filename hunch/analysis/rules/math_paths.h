// The calls of SDPA's math path in a run ("_scaled_dot_product_attention_math"): which work each launched and
// what that tells of its inputs.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis::rules {

struct MathPath {
  std::vector<std::size_t> work;  // its places in the run's work, in order
  // The 16-bit type to which it casts its result ("bf16"), which is the type of its inputs; empty where it
  // casts nothing down.
  std::string_view dtype;
};

// The calls of one run after another; a run is looked through when it is first asked for.
class MathPaths {
 public:
  explicit MathPaths(const Analysis& analysis) : analysis_(analysis) {}

  // By the call's op, as math_path_of() gives it.
  const MathPath& of(const ForwardRun& run, EventId op);

 private:
  const Analysis& analysis_;
  const ForwardRun* run_ = nullptr;
  std::unordered_map<EventId, MathPath> paths_;
};

}  // namespace hunch::analysis::rules
