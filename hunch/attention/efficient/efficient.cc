#include "hunch/attention/efficient/efficient.h"

#include <algorithm>
#include <limits>

#include "hunch/attention/efficient/efficient_cpu.h"
#include "hunch/attention/efficient/efficient_cuda.h"
#include "hunch/attention/extras.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/attention/tiles/describe.h"
#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::attention::efficient {
namespace {

std::string_view kernel_name(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::bf16:
      return "hunch::cpu::efficient_attention<bf16>";
    case tensor::DType::f16:
      return "hunch::cpu::efficient_attention<f16>";
    default:
      return "hunch::cpu::efficient_attention<f32>";
  }
}

}  // namespace

std::vector<std::string> EfficientBackend::refusals(const Call& call) const {
  auto reasons = call.query.device().info().kind == tensor::DeviceKind::cuda
                     ? tiles::cuda_refusals(call, {.max_head_dim = kMaxCudaHeadDim, .takes_f32 = true})
                     : tiles::refusals(call, kMaxHeadDim);
  add_extra_refusals(call, reasons);
  return reasons;
}

base::Result<Output> EfficientBackend::forward(const Prepared& prepared) const {
  const Call& call = prepared.call;
  const base::Span span(base::SpanKind::op, "hunch::_scaled_dot_product_efficient_attention",
                        tensor::dims_text({&call.query, &call.key, &call.value}));
  Output output = tiles::make_output(call);
  const tiles::FusedProblem problem = tiles::describe(call, output);
#if HUNCH_HAS_CUDA
  if (tensor::CudaDevice* const gpu = call.query.device().as_cuda(); gpu != nullptr) {
    if (call.query.numel() > 0) efficient_cuda(*gpu, problem);  // else no rows: nothing to launch
    return output;
  }
#endif
  const int64_t items = item_count(problem);
  if (items == 0) return output;  // no rows: nothing to launch

  tensor::CpuDevice* const device = call.query.device().as_cpu();
  HUNCH_CHECK(device != nullptr, "efficient on a device that refusals should have refused");
  base::WorkInfo work;
  work.name = kernel_name(problem.dtype);
  work.grid = {static_cast<uint32_t>(std::min<int64_t>(items, std::numeric_limits<uint32_t>::max())), 1, 1};
  work.block = {1, 1, 1};
  device->launch(work, [problem](base::ThreadPool& pool) { efficient_attention(problem, pool); });
  return output;
}

}  // namespace hunch::attention::efficient
