// efficient on a CUDA device, in builds with CUDA: always one kernel.
#pragma once

#include "hunch/attention/tiles/fused_problem.h"
#include "hunch/tensor/cuda_device.h"

namespace hunch::attention::efficient {

// For a problem with at least one row that tiles::cuda_refusals has nothing against.
void efficient_cuda(tensor::CudaDevice& device, const tiles::FusedProblem& problem);

}  // namespace hunch::attention::efficient
