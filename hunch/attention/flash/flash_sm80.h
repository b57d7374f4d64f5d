// Host side of the CUDA flash kernel for sm_80 and later: launches of it.
// In:  AttentionParams with f16 or bf16 elements, head_dim and value_dim of 1 to 256, and the kernel that
//      flash_kernel.h chose for them. Sources: flash_sm80.cu.
#pragma once

#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm80 {

// The kernel that computes attention, in one launch with parts too; on the current device, for params with at
// least one row and `splits` as in `kernel`, which is of the family sm80.
Launch flash_forward(const AttentionParams& params, ElementType type, const flash::Kernel& kernel);

}  // namespace hunch::attention::sm80
