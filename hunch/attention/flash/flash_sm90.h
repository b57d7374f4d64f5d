// Host side of the Hopper flash kernel: which calls it takes, and a launch of one.
#pragma once

#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm90 {

// True where the current device is an sm_90 and the call has neither mask nor split keys, a positive scale,
// rows that the copy engine can load, at least one key, and enough queries to be worth it.
bool flash_takes(const sm80::AttentionParams& params, sm80::ElementType type);

// For a call that flash_takes.
sm80::Launch flash_forward(const sm80::AttentionParams& params, sm80::ElementType type);

}  // namespace hunch::attention::sm90
