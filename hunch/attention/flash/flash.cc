#include "hunch/attention/flash/flash.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hunch/attention/flash/device_facts.h"
#include "hunch/attention/flash/flash_cpu.h"
#include "hunch/attention/flash/flash_cuda.h"
#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/attention/tiles/describe.h"
#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::attention::flash {
namespace {

std::string_view cpu_kernel_name(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::bf16:
      return "hunch::cpu::flash_attention<bf16>";
    case tensor::DType::f16:
      return "hunch::cpu::flash_attention<f16>";
    default:
      return "hunch::cpu::flash_attention<f32>";
  }
}

KernelNote cuda_note(const Call& call) {
  const DeviceFacts facts = facts_of(call.query.device());
  const sm80::AttentionParams params = tiles::cuda_params(tiles::describe(call));
  const Kernel kernel = choose_kernel(params, facts);
  return {std::string(kernel_name(kernel, tiles::element_type(call.query.dtype()))),
          because(kernel, params, facts)};
}

}  // namespace

std::optional<KernelNote> FlashBackend::kernel(const Call& call) const {
  if (call.query.numel() == 0) return std::nullopt;  // no rows: nothing to launch
  if (call.query.device().info().kind == tensor::DeviceKind::cuda) return cuda_note(call);
  const int64_t splits = make_plan(tiles::describe(call), panel_rows()).splits;
  KernelNote note{std::string(cpu_kernel_name(call.query.dtype())), {}};
  if (splits > 1)
    note.because.push_back(fmt::format(
        "the keys in {} parts, put together in the same launch, as there are few queries", splits));
  return note;
}

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
  work.name = cpu_kernel_name(problem.dtype);
  work.grid = {static_cast<uint32_t>(std::min<int64_t>(plan.items, std::numeric_limits<uint32_t>::max())), 1,
               1};
  work.block = {1, 1, 1};
  device->launch(
      work, [problem, plan, parts](base::ThreadPool& pool) { flash_attention(problem, plan, parts, pool); });
  return output;
}

}  // namespace hunch::attention::flash
