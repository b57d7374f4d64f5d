// What this build and device lack comes first, then what cuDNN's attention asks of a problem: 16-bit types, a
// head_dim of at most 256 in steps of 8, dense rows, sizes above zero, a float mask in the query's own dtype.
#include "hunch/attention/cudnn/cudnn.h"

#include <fmt/format.h>

#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/base/check.h"
#include "hunch/tensor/device.h"

namespace hunch::attention::cudnn {
namespace {

using tensor::DType;

constexpr int64_t kMaxHeadDim = 256;
constexpr int64_t kHeadDimStep = 8;  // 16 bytes, what its loads move at once

void check_head_dim(std::string_view what, int64_t size, std::vector<std::string>& reasons) {
  if (size > kMaxHeadDim) reasons.push_back(fmt::format("{} {} is over {}", what, size, kMaxHeadDim));
  if (size % kHeadDimStep != 0)
    reasons.push_back(fmt::format("{} {} is not a multiple of {}", what, size, kHeadDimStep));
}

}  // namespace

std::string_view CudnnBackend::summary() const { return "cuDNN's generated kernel, one for each problem"; }

std::vector<std::string> CudnnBackend::refusals(const Call& call) const {
  std::vector<std::string> reasons;
  const auto& info = call.query.device().info();
  if (info.kind != tensor::DeviceKind::cuda)
    reasons.push_back(fmt::format("it needs an NVIDIA GPU, and this device is a CPU ({})", info.name));
  reasons.emplace_back("this build has no cuDNN");
  if (call.query.dtype() == DType::f32)
    reasons.emplace_back("it computes in bf16 and f16, and the inputs are f32");
  check_head_dim("head_dim", call.query.size(3), reasons);
  if (call.value.size(3) != call.query.size(3))
    check_head_dim("value's head_dim", call.value.size(3), reasons);
  tiles::add_row_refusals(call, reasons);
  if (call.query.numel() == 0) reasons.emplace_back("the query is empty");
  if (call.key.size(2) == 0) reasons.emplace_back("there are no keys");
  if (call.mask && call.mask->dtype() != DType::boolean && call.mask->dtype() != call.query.dtype()) {
    reasons.push_back(fmt::format("the mask is {} and the query is {}, and it would read one as the other",
                                  tensor::name_of(call.mask->dtype()), tensor::name_of(call.query.dtype())));
  }
  return reasons;
}

Output CudnnBackend::forward(const Prepared&) const {
  HUNCH_CHECK(false, "cudnn refuses every call in this build");
  return {};
}

}  // namespace hunch::attention::cudnn
