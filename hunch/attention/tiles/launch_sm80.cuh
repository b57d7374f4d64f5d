// From a compiled attention kernel to a Launch: its registers and memory, asked for once a device, and the
// call that enqueues it.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>

#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm80 {

inline int current_device() {
  int device = 0;
  cudaGetDevice(&device);
  return device;
}

// Shared memory that a block may opt in to on the current device.
inline int shared_limit() {
  int bytes = 0;
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device());
  return bytes;
}

// Clusters of so many blocks in a row, for a launch's attributes.
inline cudaLaunchAttribute cluster_attribute(unsigned blocks) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return attribute;
}

// A launch of `kKernel` but for `run`. Allows it `dynamic_bytes`, the same at every call, and clusters of
// more than eight blocks, where the device has them.
template <auto kKernel, bool kLargeClusters = false>
Launch describe_launch(std::string_view name, int64_t blocks, int threads, int dynamic_bytes) {
  struct Known {
    std::atomic<bool> done{false};
    int registers = 0;
    int64_t static_bytes = 0;
  };
  static std::array<Known, 64> devices;  // by ordinal; what two threads write at once is the same
  Known& known = devices[static_cast<std::size_t>(current_device()) % devices.size()];
  if (!known.done.load(std::memory_order_acquire)) {
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, kKernel) == cudaSuccess &&
        cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes) ==
            cudaSuccess) {
      if (kLargeClusters &&
          cudaFuncSetAttribute(kKernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess)
        cudaGetLastError();
      known.registers = attributes.numRegs;
      known.static_bytes = static_cast<int64_t>(attributes.sharedSizeBytes);
      known.done.store(true, std::memory_order_release);
    }
  }
  Launch launch;
  launch.name = name;
  launch.blocks = blocks;
  launch.threads = static_cast<uint32_t>(threads);
  launch.registers = known.registers;
  launch.shared_bytes = known.static_bytes + dynamic_bytes;
  launch.dynamic_bytes = dynamic_bytes;
  return launch;
}

// Of a kernel that takes AttentionParams by value and nothing else.
template <void (*kKernel)(AttentionParams), bool kLargeClusters = false>
Launch make_launch(std::string_view name, int64_t blocks, int threads, int dynamic_bytes) {
  Launch launch = describe_launch<kKernel, kLargeClusters>(name, blocks, threads, dynamic_bytes);
  launch.run = [](const AttentionParams& params, const Launch& self, void* stream) -> int {
    if (self.blocks > kMaxBlocks) return cudaErrorInvalidConfiguration;
    AttentionParams copy = params;
    void* arguments[] = {&copy};
    cudaLaunchAttribute cluster = cluster_attribute(self.cluster);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(self.blocks));
    config.blockDim = dim3(self.threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(self.dynamic_bytes);
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = &cluster;
    config.numAttrs = self.cluster > 1 ? 1 : 0;
    if (config.numAttrs > 0)
      return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kKernel), arguments);
    return cudaLaunchKernel(reinterpret_cast<const void*>(kKernel), config.gridDim, config.blockDim,
                            arguments, config.dynamicSmemBytes, config.stream);
  };
  return launch;
}

}  // namespace hunch::attention::sm80
