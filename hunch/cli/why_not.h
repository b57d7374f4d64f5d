// Why a forward's attention did not take the backend that was guessed: from the table of what PyTorch checks,
// for the calls of a trace with shapes.
#pragma once

#include <string>
#include <string_view>

#include "hunch/analysis/analysis.h"

namespace hunch::cli {

// A clause: "flash cannot take 8 x 16 x 1024 x 64, bf16, bool mask ...: it takes no mask tensor, ... (change:
// ...)". Empty where `wanted` is no backend of SDPA's, where the trace has no shapes, and where the table
// does not know why: it could not have taken what the trace shows, or would have taken `wanted`.
std::string why_not(const analysis::Analysis& analysis, std::string_view range, std::string_view wanted);

}  // namespace hunch::cli
