// flash on a CUDA device, in builds with CUDA: one launch of the kernel that flash_kernel.h chooses.
#pragma once

#include "hunch/attention/tiles/fused_problem.h"
#include "hunch/tensor/cuda_device.h"

namespace hunch::attention::flash {

// For a problem with at least one row that tiles::cuda_refusals has nothing against.
void flash_cuda(tensor::CudaDevice& device, const tiles::FusedProblem& problem);

}  // namespace hunch::attention::flash
