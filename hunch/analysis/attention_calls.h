// The attention calls of a trace of PyTorch: each call of scaled_dot_product_attention, which backend's op
// ran inside of it, and whether gradients were needed.
//
// Gradients are told by what autograd leaves in a trace. Its numbers are counted per thread and used up where
// a node is made: an op carries the number that the next node would get, so a call behind which the number is
// still the same made no node, and its inputs need no gradient. Out: what is told, and by which event.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis {

enum class Gradients {
  needed,      // of query, key or value
  mask_only,   // of the mask and of none of these
  not_needed,  // of any input
  not_told,
};
std::string_view name_of(Gradients gradients);  // "needed", "of the mask only", "not needed", "not told"

struct AttentionCall {
  EventId op = kNone;  // scaled_dot_product_attention; or the backend's op, where it was called directly
  EventId backend_op = kNone;  // "aten::_scaled_dot_product_flash_attention"; kNone: the trace shows none
  std::string_view backend;    // "flash"; empty: not shown
  bool direct = false;         // a backend's op without scaled_dot_product_attention around it
  bool compiled = false;       // inside a compiled region
  bool launches = false;       // a call of a device's API lies inside: it computed there
  Gradients gradients = Gradients::not_told;
  std::string because;  // a clause: how that is told, or why it is not
};

// By row. Backward ops are no calls.
std::vector<AttentionCall> attention_calls(const Analysis& analysis);

}  // namespace hunch::analysis
