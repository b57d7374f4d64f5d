// From a Call to the CUDA kernels: what they refuse, their parameters, and the launch on a device.
// In:  calls that validate() accepts, on a CUDA device. Holds: plain types; only launch_on needs a build with
// CUDA.
#pragma once

#include <string>
#include <vector>

#include "hunch/attention/problem.h"
#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/fused_problem.h"
#include "hunch/tensor/cuda_device.h"

namespace hunch::attention::tiles {

// What a family of CUDA kernels can do.
struct CudaLimits {
  int64_t max_head_dim = 256;
  bool takes_f32 = false;
};

// Every reason why CUDA kernels with these limits cannot take the call; empty: they can.
std::vector<std::string> cuda_refusals(const Call& call, const CudaLimits& limits);

// "query's last stride is 2, not 1", and the same for key and value.
void add_row_refusals(const Call& call, std::vector<std::string>& reasons);

sm80::ElementType element_type(tensor::DType dtype);

// One part, no workspace; `out` dense.
sm80::AttentionParams cuda_params(const FusedProblem& problem);

// Enqueues one kernel in stream order and reports it with its grid, block, registers and shared memory.
void launch_on(tensor::CudaDevice& device, const sm80::Launch& launch, const sm80::AttentionParams& params);

}  // namespace hunch::attention::tiles
