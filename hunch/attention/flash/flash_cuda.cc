#include "hunch/attention/flash/flash_cuda.h"

#include "hunch/attention/flash/device_facts.h"
#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/flash/flash_sm80.h"
#include "hunch/attention/flash/flash_sm90.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/tensor/tensor.h"

namespace hunch::attention::flash {

static_assert(sm80::kCounters <= tensor::CudaDevice::kCounters);

void flash_cuda(tensor::CudaDevice& device, const tiles::FusedProblem& problem) {
  sm80::AttentionParams params = tiles::cuda_params(problem);
  const sm80::ElementType type = tiles::element_type(problem.dtype);
  // What blocks leave for each other waits in `workspace`; in stream order, so it may go when we return.
  tensor::Tensor workspace;
  const auto run = [&](const sm80::Launch& launch) {
    if (launch.workspace_floats > 0) {
      workspace = tensor::Tensor::empty(device, tensor::DType::f32, {launch.workspace_floats});
      params.partial_out = reinterpret_cast<float*>(workspace.data());
    }
    if (launch.needs_counters) params.counters = device.counters();
    tiles::launch_on(device, launch, params);
  };
  DeviceFacts facts = facts_of(device);
  Kernel kernel = choose_kernel(params, facts);
  if (kernel.family() == Family::sm90) {
    if (const auto hopper = sm90::flash_forward(params, type, kernel)) return run(*hopper);
    facts.tensor_maps = false;  // only the driver knows which tensors it can describe
    kernel = choose_kernel(params, facts);
  }
  params.splits = kernel.parts.count;
  run(sm80::flash_forward(params, type, kernel));
}

}  // namespace hunch::attention::flash
