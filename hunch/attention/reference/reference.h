// The judge of all backends: attention in double precision, straight from the definition, on the host.
// Row-major inputs as read from the tensors; fully masked rows give zeros and LSE -inf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hunch/attention/problem.h"

namespace hunch::attention::reference {

struct Result {
  std::vector<double> out;  // [batch, heads, length, value_dim]
  std::vector<double> lse;  // [batch, heads, length]
};

// Synchronizes the call's device and computes on the calling thread.
Result attention(const Call& call);

// The same for some rows only: row (b * heads + h) * length + i is query i of head h in batch b. The result
// holds them in the order given: out [rows, value_dim], lse [rows].
Result attention(const Call& call, std::span<const int64_t> rows);

// What a plain implementation in the call's own 16-bit type may lose: the same formula with scores and
// weights rounded to the dtype after each step. Its distance from attention() sets the bound of a test.
// In f32 a plain f32 implementation: sums run in float, one after the other. Fully masked rows give zeros.
std::vector<double> attention_in_dtype(const Call& call);
std::vector<double> attention_in_dtype(const Call& call, std::span<const int64_t> rows);

// The design's bound for a forward: twice what the plain implementation loses (the largest distance of the
// two vectors, both of the same rows), plus 1e-5.
double error_bound(std::span<const double> exact, std::span<const double> in_dtype);

}  // namespace hunch::attention::reference
