// What this build and device lack comes first, then what cuDNN's attention asks of a problem: 16-bit types, a
// head_dim of at most 256 in steps of 8, dense rows that start on 16 bytes, sizes above zero, a float mask in
// the query's own dtype; at last, what the library itself says.
#include "hunch/attention/cudnn/cudnn.h"

#include <fmt/format.h>

#include "hunch/attention/cudnn/cudnn_cuda.h"
#include "hunch/attention/extras.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/base/check.h"
#include "hunch/base/probe.h"
#include "hunch/tensor/device.h"

namespace hunch::attention::cudnn {
namespace {

using tensor::DType;

constexpr int kLeastComputeMajor = 8;
constexpr int64_t kMaxHeadDim = 256;
constexpr int64_t kHeadDimStep = 8;  // 16 bytes, what its loads move at once

void check_head_dim(std::string_view what, int64_t size, std::vector<std::string>& reasons) {
  if (size > kMaxHeadDim) reasons.push_back(fmt::format("{} {} is over {}", what, size, kMaxHeadDim));
  if (size % kHeadDimStep != 0)
    reasons.push_back(fmt::format("{} {} is not a multiple of {}", what, size, kHeadDimStep));
}

// cuDNN neither checks nor survives operands that its 16-byte loads cannot start at.
void check_start(std::string_view what, const tensor::Tensor& tensor, std::vector<std::string>& reasons) {
  if (reinterpret_cast<std::uintptr_t>(tensor.data()) % 16 != 0)
    reasons.push_back(fmt::format("{} does not start on 16 bytes", what));
  if (tensor.size(3) % kHeadDimStep != 0) return;  // told already, and the strides follow from it
  for (int dim = 0; dim < 3; ++dim) {
    if (tensor.size(dim) > 1 && tensor.stride(dim) % kHeadDimStep != 0) {
      reasons.push_back(fmt::format("{}'s rows do not start on 16 bytes: a stride is {}, no multiple of {}",
                                    what, tensor.stride(dim), kHeadDimStep));
      break;
    }
  }
}

}  // namespace

std::string_view CudnnBackend::summary() const { return "cuDNN's generated kernel, one for each problem"; }

std::vector<std::string> CudnnBackend::refusals(const Call& call) const {
  std::vector<std::string> reasons;
  const auto& info = call.query.device().info();
  if (info.kind != tensor::DeviceKind::cuda)
    reasons.push_back(fmt::format("it needs an NVIDIA GPU, and this device is a CPU ({})", info.name));
  if (info.kind == tensor::DeviceKind::cuda && info.compute_major < kLeastComputeMajor) {
    reasons.push_back(fmt::format("it needs a GPU of compute capability 8.0 or newer, and the {} has {}.{}",
                                  info.name, info.compute_major, info.compute_minor));
  }
#if !HUNCH_HAS_CUDNN
  reasons.emplace_back("this build has no cuDNN");
#endif
  if (call.query.dtype() == DType::f32)
    reasons.emplace_back("it computes in bf16 and f16, and the inputs are f32");
  check_head_dim("head_dim", call.query.size(3), reasons);
  if (call.value.size(3) != call.query.size(3))
    check_head_dim("value's head_dim", call.value.size(3), reasons);
  tiles::add_row_refusals(call, reasons);
  add_extra_refusals(call, reasons);
  if (call.query.numel() == 0) reasons.emplace_back("the query is empty");
  if (call.key.size(2) == 0) reasons.emplace_back("there are no keys");
  if (call.mask && call.mask->dtype() != DType::boolean && call.mask->dtype() != call.query.dtype()) {
    reasons.push_back(fmt::format("the mask is {} and the query is {}, and it would read one as the other",
                                  tensor::name_of(call.mask->dtype()), tensor::name_of(call.query.dtype())));
  }
  if (!(call.effective_scale() > 0)) {
    // Seen with cuDNN 9.14 on sm_90: NaN for most scales of 0 or below.
    reasons.push_back(
        fmt::format("the scale is {:g}, and it is right for positive ones only", call.effective_scale()));
  }
  check_start("query", call.query, reasons);
  check_start("key", call.key, reasons);
  check_start("value", call.value, reasons);
#if HUNCH_HAS_CUDA
  // The library is asked last, and only about what could run: it is slow to answer the first time.
  if (tensor::CudaDevice* const gpu = call.query.device().as_cuda(); gpu != nullptr && reasons.empty())
    reasons = library_refusals(*gpu, call);
#endif
  return reasons;
}

base::Result<Output> CudnnBackend::forward(const Prepared& prepared) const {
  const Call& call = prepared.call;
  const base::Span span(base::SpanKind::op, "hunch::_scaled_dot_product_cudnn_attention",
                        tensor::dims_text({&call.query, &call.key, &call.value}));
#if HUNCH_HAS_CUDA
  if (tensor::CudaDevice* const gpu = call.query.device().as_cuda(); gpu != nullptr)
    return forward_on(*gpu, call);
#endif
  HUNCH_CHECK(false, "cudnn on a device that refusals should have refused");
  return {};
}

}  // namespace hunch::attention::cudnn
