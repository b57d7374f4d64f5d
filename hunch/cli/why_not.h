// Why a forward's attention did not take the backend that was guessed: from the table of what PyTorch checks,
// for the calls of a trace with shapes.
#pragma once

#include <string>
#include <string_view>

#include "hunch/analysis/analysis.h"

namespace hunch::cli {

// A clause: "flash: it takes no mask tensor, and there is a bool mask (change: ...)". Empty where `wanted` is
// no backend of SDPA's, where the trace has no shapes, or where the table would have taken another backend
// than the trace shows: then it does not know why.
std::string why_not(const analysis::Analysis& analysis, std::string_view range, std::string_view wanted);

}  // namespace hunch::cli
