#include "hunch/ops/kernels.h"

#include "hunch/base/check.h"
#include "hunch/tensor/device.h"

namespace hunch::ops {

const Kernels& kernels_of(const Device& device) {
  switch (device.info().kind) {
    case tensor::DeviceKind::cpu:
      return cpu_kernels();
    case tensor::DeviceKind::cuda:
#if HUNCH_HAS_CUDA
      return cuda_kernels();
#else
      break;  // no such device can be opened in this build
#endif
  }
  HUNCH_CHECK(false, "a device of a kind that this build has no kernels for");
}

}  // namespace hunch::ops
