// Host side of the Hopper flash kernel: a launch of it for the calls that flash_kernel.h gives it.
#pragma once

#include <optional>

#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm90 {

// `kernel` is of the family sm90. Nothing where the driver cannot describe the tensors to the copy engine.
std::optional<sm80::Launch> flash_forward(const sm80::AttentionParams& params, sm80::ElementType type,
                                          const flash::Kernel& kernel);

}  // namespace hunch::attention::sm90
