// Host side of the CUDA memory-efficient kernels for sm_80 and later: which kernel a call takes.
// In:  AttentionParams with f16, bf16 or f32 elements, head_dim and value_dim of 1 to 256, splits 1.
// Sources: efficient_sm80.cu.
#pragma once

#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm80 {

// On the current device, for params with at least one row.
Launch efficient_forward(const AttentionParams& params, ElementType type);

}  // namespace hunch::attention::sm80
