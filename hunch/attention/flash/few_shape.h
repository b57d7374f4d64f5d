// Which shape of the kernel for few rows computes a call: how many blocks a multiprocessor has at once.
#pragma once

#include <cstdint>

#include "hunch/attention/flash/flash_kernel.h"

namespace hunch::attention::flash {

// The one that has a multiprocessor to itself.
Shape few_shape_alone(int dim);
// For so many blocks, each of which reads `bytes` of K and V. A pure function; by measurement on H200s.
Shape few_shape(int dim, int64_t blocks, int64_t bytes, const DeviceFacts& facts);

}  // namespace hunch::attention::flash
