// What a device tells of itself for the choice of a flash kernel.
//
// In:  a CUDA device, here or only named (tensor::AbsentGpu). Out: its facts; of one that is only named, the
//      shared memory that CUDA's documentation gives, and the clusters of the architecture's usual product.
#pragma once

#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/tensor/device.h"

namespace hunch::attention::flash {

DeviceFacts facts_of(tensor::Device& device);

}  // namespace hunch::attention::flash
