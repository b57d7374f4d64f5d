// From a Call to what the fused kernels need, and the refusals that they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/attention/problem.h"
#include "hunch/attention/tiles/fused_problem.h"

namespace hunch::attention::tiles {

// Every reason why a fused CPU kernel with this limit on head_dim cannot take the call; empty: it can.
std::vector<std::string> refusals(const Call& call, int64_t max_head_dim);

// Fresh outputs for the call, on its device.
Output make_output(const Call& call);

// Raw pointers into the call, which must stay alive in stream order; nowhere to put the result.
FusedProblem describe(const Call& call);
// The same, and into the output.
FusedProblem describe(const Call& call, const Output& output);

}  // namespace hunch::attention::tiles
