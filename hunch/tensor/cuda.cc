#include "hunch/tensor/cuda.h"

#include <fmt/format.h>

#if HUNCH_HAS_CUDA
#include "hunch/tensor/cuda_device.h"
#endif

namespace hunch::tensor {

#if !HUNCH_HAS_CUDA
CudaStatus cuda_status() {
  CudaStatus status;
  status.missing = "this build has no CUDA";
  status.remedy = "build hunch where nvcc is on the PATH";
  return status;
}
#endif

base::Result<std::unique_ptr<Device>> open_cuda(int index) {
  const CudaStatus status = cuda_status();
  if (!status.missing.empty()) return base::fail(base::ErrorCode::environment, status.missing, status.remedy);
  const auto count = static_cast<int>(status.devices.size());
  if (index < 0 || index >= count)
    return base::fail(base::ErrorCode::environment,
                      fmt::format("there is no CUDA device {}: this machine has {}", index,
                                  count == 1 ? "device 0 alone" : fmt::format("0 to {}", count - 1)));
#if HUNCH_HAS_CUDA
  return std::make_unique<CudaDevice>(index);
#else
  return nullptr;  // not reached: without CUDA something is missing
#endif
}

}  // namespace hunch::tensor
