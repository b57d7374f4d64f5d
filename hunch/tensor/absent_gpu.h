// A GPU that is not here: what an architecture is, for questions that need no memory and no launch. It says
// that it is a CUDA device, as_cuda() gives none, and nothing can be allocated on it.
#pragma once

#include "hunch/tensor/device.h"

namespace hunch::tensor {

class AbsentGpu final : public Device {
 public:
  // `compute`: 90 for sm_90. The number of multiprocessors is that of the product that the name has, where
  // the architecture is known for one; else 0.
  explicit AbsentGpu(int compute);

  const DeviceInfo& info() const override { return info_; }
  void* allocate(std::size_t bytes) override;  // throws std::bad_alloc
  void release(void*, std::size_t) override {}
  void upload(void*, const void*, std::size_t) override {}
  void download(void*, const void*, std::size_t) override {}
  void synchronize() override {}
  MemoryStats memory() const override { return {}; }
  void reset_peak() override {}
  int64_t available_bytes() const override;  // without end: how much memory it has is not known
  void set_poison(bool) override {}

 private:
  DeviceInfo info_;
};

}  // namespace hunch::tensor
