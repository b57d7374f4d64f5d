// Host side of the flash kernel for few rows: launches of it. As flash_sm80.h, which asks here.
// Source: few_rows_sm80.cu.
#pragma once

#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm80 {

// For a kernel with `few`.
Launch flash_few_rows(const AttentionParams& params, ElementType type, const flash::Kernel& kernel);

// Clusters of it that the current device runs at once. Asked of the driver once a device.
flash::Clusters few_rows_clusters();

}  // namespace hunch::attention::sm80
