#include "hunch/attention/flash/flash_cuda.h"

#include "hunch/attention/flash/flash_sm80.h"
#include "hunch/attention/flash/flash_sm90.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/tensor/tensor.h"

namespace hunch::attention::flash {

static_assert(sm80::kCounters <= tensor::CudaDevice::kCounters);

void flash_cuda(tensor::CudaDevice& device, const tiles::FusedProblem& problem) {
  sm80::AttentionParams params = tiles::cuda_params(problem);
  const sm80::ElementType type = tiles::element_type(problem.dtype);
  params.splits = 1;
  // What blocks leave for each other waits here; in stream order, so it may go when we return.
  tensor::Tensor workspace;
  const auto reserve = [&](int64_t floats) {
    workspace = tensor::Tensor::empty(device, tensor::DType::f32, {floats});
    params.partial_out = reinterpret_cast<float*>(workspace.data());
  };
  if (const auto hopper = sm90::flash_forward(params, type)) {
    if (hopper->workspace_floats > 0) reserve(hopper->workspace_floats);
    if (hopper->needs_counters) params.counters = device.counters();
    return tiles::launch_on(device, *hopper, params);
  }
  params.splits = sm80::flash_splits(params, device.properties().multiprocessors);
  if (params.splits > 1) {
    const int64_t rows = params.splits * problem.batch * problem.heads * problem.length;
    reserve(rows * (problem.value_dim + 1));
    params.partial_lse = params.partial_out + rows * problem.value_dim;
  }
  tiles::launch_on(device, sm80::flash_forward(params, type), params);
  if (params.splits > 1) tiles::launch_on(device, sm80::flash_combine(params, type), params);
}

}  // namespace hunch::attention::flash
