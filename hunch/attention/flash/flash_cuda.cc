#include "hunch/attention/flash/flash_cuda.h"

#include "hunch/attention/flash/flash_sm80.h"
#include "hunch/attention/flash/flash_sm90.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/tensor/tensor.h"

namespace hunch::attention::flash {

void flash_cuda(tensor::CudaDevice& device, const tiles::FusedProblem& problem) {
  sm80::AttentionParams params = tiles::cuda_params(problem);
  const sm80::ElementType type = tiles::element_type(problem.dtype);
  params.splits = 1;
  if (sm90::flash_takes(params, type))
    return tiles::launch_on(device, sm90::flash_forward(params, type), params);
  params.splits = sm80::flash_splits(params, device.properties().multiprocessors);
  // Parts of split keys wait here for the second kernel; in stream order, so it may go when we return.
  tensor::Tensor workspace;
  if (params.splits > 1) {
    const int64_t rows = params.splits * problem.batch * problem.heads * problem.length;
    workspace = tensor::Tensor::empty(device, tensor::DType::f32, {rows * (problem.value_dim + 1)});
    params.partial_out = reinterpret_cast<float*>(workspace.data());
    params.partial_lse = params.partial_out + rows * problem.value_dim;
  }
  tiles::launch_on(device, sm80::flash_forward(params, type), params);
  if (params.splits > 1) tiles::launch_on(device, sm80::flash_combine(params, type), params);
}

}  // namespace hunch::attention::flash
