// What scaled_dot_product_attention does not have and FlashAttention has: a sliding window and capped scores.
#pragma once

#include <string>
#include <vector>

#include "hunch/attention/problem.h"

namespace hunch::attention {

// For backends that can do neither: appends a reason for each that the call asks for.
void add_extra_refusals(const Call& call, std::vector<std::string>& reasons);

}  // namespace hunch::attention
