#include "hunch/attention/efficient/efficient_cuda.h"

#include "hunch/attention/efficient/efficient_sm80.h"
#include "hunch/attention/tiles/cuda_call.h"

namespace hunch::attention::efficient {

void efficient_cuda(tensor::CudaDevice& device, const tiles::FusedProblem& problem) {
  const sm80::AttentionParams params = tiles::cuda_params(problem);
  tiles::launch_on(device, sm80::efficient_forward(params, tiles::element_type(problem.dtype)), params);
}

}  // namespace hunch::attention::efficient
