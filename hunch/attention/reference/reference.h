// The judge of all backends: attention in double precision, straight from the definition, on the host.
// Row-major inputs as read from the tensors; fully masked rows give zeros and LSE -inf.
#pragma once

#include <vector>

#include "hunch/attention/problem.h"

namespace hunch::attention::reference {

struct Result {
  std::vector<double> out;  // [batch, heads, length, value_dim]
  std::vector<double> lse;  // [batch, heads, length]
};

// Synchronizes the call's device and computes on the calling thread.
Result attention(const Call& call);

// What a plain implementation in the call's own 16-bit type may lose: the same formula with scores and
// weights rounded to the dtype after each step. Its distance from attention() sets the bound of a test.
std::vector<double> attention_in_dtype(const Call& call);

}  // namespace hunch::attention::reference
