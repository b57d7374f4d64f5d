// The door to CUDA devices, in every build: without CUDA, or without a driver or a GPU, it says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hunch/base/result.h"
#include "hunch/tensor/device.h"

namespace hunch::tensor {

// What this build and machine have of CUDA.
struct CudaStatus {
  bool built = false;       // this build has CUDA kernels
  std::string missing;      // why no device can be opened; empty where one can
  std::string remedy;       // what to try then
  int runtime_version = 0;  // 13000 for 13.0; 0 where not built
  int driver_version = 0;   // the newest CUDA that the driver serves; 0 without a driver
  std::vector<DeviceInfo> devices;
};
CudaStatus cuda_status();

// Errors: environment, where there is no CUDA in this build, no driver, or no device of that index.
base::Result<std::unique_ptr<Device>> open_cuda(int index = 0);

}  // namespace hunch::tensor
