#include "hunch/attention/flash/flash.h"

#include <algorithm>
#include <limits>

#include "hunch/attention/flash/flash_cpu.h"
#include "hunch/attention/flash/flash_cuda.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/attention/tiles/describe.h"
#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::attention::flash {
namespace {

std::string_view kernel_name(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::bf16:
      return "hunch::cpu::flash_attention<bf16>";
    case tensor::DType::f16:
      return "hunch::cpu::flash_attention<f16>";
    default:
      return "hunch::cpu::flash_attention<f32>";
  }
}

}  // namespace

std::vector<std::string> FlashBackend::refusals(const Call& call) const {
  if (call.query.device().info().kind == tensor::DeviceKind::cuda)
    return tiles::cuda_refusals(call, {.max_head_dim = kMaxCudaHeadDim, .takes_f32 = false});
  return tiles::refusals(call, kMaxHeadDim);
}

base::Result<Output> FlashBackend::forward(const Prepared& prepared) const {
  const Call& call = prepared.call;
  const base::Span span(base::SpanKind::op, "hunch::_scaled_dot_product_flash_attention",
                        tensor::dims_text({&call.query, &call.key, &call.value}));
  Output output = tiles::make_output(call);
  const tiles::FusedProblem problem = tiles::describe(call, output);
#if HUNCH_HAS_CUDA
  if (tensor::CudaDevice* const gpu = call.query.device().as_cuda(); gpu != nullptr) {
    if (call.query.numel() > 0) flash_cuda(*gpu, problem);  // else no rows: nothing to launch
    return output;
  }
#endif
  const FlashPlan plan = make_plan(problem, panel_rows());
  if (plan.items == 0) return output;  // no rows: nothing to launch

  tensor::CpuDevice* const device = call.query.device().as_cpu();
  HUNCH_CHECK(device != nullptr, "flash on a device that refusals should have refused");
  // Parts of split keys wait here for the second round; in stream order, so it may go when we return.
  tensor::Tensor workspace;
  if (plan.workspace_floats(problem) > 0)
    workspace = tensor::Tensor::empty(*device, tensor::DType::f32, {plan.workspace_floats(problem)});
  float* const parts = workspace.defined() ? reinterpret_cast<float*>(workspace.data()) : nullptr;

  base::WorkInfo work;
  work.name = kernel_name(problem.dtype);
  work.grid = {static_cast<uint32_t>(std::min<int64_t>(plan.items, std::numeric_limits<uint32_t>::max())), 1,
               1};
  work.block = {1, 1, 1};
  device->launch(
      work, [problem, plan, parts](base::ThreadPool& pool) { flash_attention(problem, plan, parts, pool); });
  return output;
}

}  // namespace hunch::attention::flash
