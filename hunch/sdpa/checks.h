// The checks that the table's rows name; see table.h. Each returns what of the problem breaks it, or nothing.
#pragma once

#include "hunch/sdpa/table.h"

namespace hunch::sdpa::checks {

#define HUNCH_SDPA_CHECK(name) \
  std::optional<std::string> name(const Problem& problem, const Setup& setup, const Constraint& constraint)

HUNCH_SDPA_CHECK(enabled);           // pinned away
HUNCH_SDPA_CHECK(not_nested);        // no nested tensors
HUNCH_SDPA_CHECK(variable_set);      // `words` begins with the variable that must be 1
HUNCH_SDPA_CHECK(architecture);      // sm in [limit, limit2]
HUNCH_SDPA_CHECK(dtype_16_bit);      // f16 or bf16
HUNCH_SDPA_CHECK(dtype_f16);         // f16 alone
HUNCH_SDPA_CHECK(dtype_to_f32);      // f16, bf16 or f32
HUNCH_SDPA_CHECK(dtype_f16_f32);     // f16 or f32
HUNCH_SDPA_CHECK(no_mask);           // no mask tensor
HUNCH_SDPA_CHECK(mask_no_grad);      // the mask requires no gradient
HUNCH_SDPA_CHECK(mask_rank);         // 2 or 4 dimensions
HUNCH_SDPA_CHECK(same_head_dim);     // query's and value's
HUNCH_SDPA_CHECK(head_dim_most);     // both at most `limit`
HUNCH_SDPA_CHECK(head_dim_aligned);  // above 0, multiples of `limit` in 16 bits, of `limit2` in wider types
HUNCH_SDPA_CHECK(head_dim_multiple_or_0);  // both multiples of `limit`
HUNCH_SDPA_CHECK(head_dim_backward);    // with gradients: not in (limit, limit2], nor above it with dropout
HUNCH_SDPA_CHECK(causal_square);        // causal: length and kv_length alike
HUNCH_SDPA_CHECK(lengths_positive);     // neither 0
HUNCH_SDPA_CHECK(lengths_not_1);        // neither 1
HUNCH_SDPA_CHECK(kv_length_not_1);      // kv_length is not 1
HUNCH_SDPA_CHECK(length_1_no_dropout);  // length 1 only without dropout
HUNCH_SDPA_CHECK(same_heads);           // as many for query as for key, whatever enable_gqa says
HUNCH_SDPA_CHECK(grouped_heads);        // the same, or with enable_gqa a divisor
HUNCH_SDPA_CHECK(last_stride_1);        // of query, key, value and mask
HUNCH_SDPA_CHECK(last_stride_1_but_single);  // the same; head_dim 1 is excused
HUNCH_SDPA_CHECK(qkv_last_stride_1);         // of query, key and value
HUNCH_SDPA_CHECK(no_dropout);
HUNCH_SDPA_CHECK(not_deterministic);
HUNCH_SDPA_CHECK(never);  // rows for versions of cuDNN that are refused altogether

#undef HUNCH_SDPA_CHECK

}  // namespace hunch::sdpa::checks
