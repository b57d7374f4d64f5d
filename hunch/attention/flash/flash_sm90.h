// Host side of the Hopper flash kernel: a launch of it for the calls that it takes.
#pragma once

#include <optional>

#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm90 {

// Nothing unless the build has code for sm_90a, the current device is an sm_90, and the call has no mask, no
// split keys, no softcap, a positive scale, rows that the copy engine can load, at least one key, and enough
// queries to be worth it.
std::optional<sm80::Launch> flash_forward(const sm80::AttentionParams& params, sm80::ElementType type);

}  // namespace hunch::attention::sm90
