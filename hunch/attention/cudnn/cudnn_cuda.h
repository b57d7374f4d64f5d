// cuDNN's attention on a CUDA device, in builds with CUDA. Where the build had no headers of cuDNN, or the
// machine has no library, that is the one reason that it gives.
// In:  calls that CudnnBackend's own reasons have nothing against. Holds: safe to call from several threads.
#pragma once

#include <string>
#include <vector>

#include "hunch/attention/problem.h"
#include "hunch/tensor/cuda_device.h"

namespace hunch::attention::cudnn {

// What the library says against the call, in its own words: that it is missing or too old, or that none of
// its engines takes the problem. Asked once a problem, then remembered.
std::vector<std::string> library_refusals(tensor::CudaDevice& device, const Call& call);

// Launches the forward. The first call of a problem builds its plan, inside a span "hunch::cudnn_plan_build".
Output forward_on(tensor::CudaDevice& device, const Call& call);

}  // namespace hunch::attention::cudnn
