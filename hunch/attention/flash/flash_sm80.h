// Host side of the CUDA flash kernel for sm_80 and later: which kernels a call takes.
// In:  AttentionParams with f16 or bf16 elements, head_dim and value_dim of 1 to 256. Sources: flash_sm80.cu.
#pragma once

#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm80 {

// How many parts to split the keys into so that few queries fill a device of that many multiprocessors: for
// the caller to set `splits`, before it asks for a launch.
int flash_splits(const AttentionParams& params, int multiprocessors);

// The kernel that computes attention, in one launch with parts too; on the current device, for params with at
// least one row.
Launch flash_forward(const AttentionParams& params, ElementType type);

}  // namespace hunch::attention::sm80
