// Host side of the CUDA flash kernel for sm_80 and later: which kernels a call takes.
// In:  AttentionParams with f16 or bf16 elements, head_dim and value_dim of 1 to 256. Sources: flash_sm80.cu.
#pragma once

#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm80 {

// How many parts to split the keys into so that few queries fill a device of that many multiprocessors. With
// more than one the caller sets `splits`, partial_out and partial_lse.
int flash_splits(const AttentionParams& params, int multiprocessors);

// The kernel that computes attention, or its parts; on the current device, for params with at least one row.
Launch flash_forward(const AttentionParams& params, ElementType type);

// The kernel that combines parts; for splits > 1, after flash_forward.
Launch flash_combine(const AttentionParams& params, ElementType type);

}  // namespace hunch::attention::sm80
