// An NVIDIA GPU as a device: one stream, a caching allocator over cudaMalloc, and launches that can be timed
// by events where no tracer listens. Only in builds with CUDA; open_cuda (cuda.h) makes one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hunch/base/function_ref.h"
#include "hunch/base/probe.h"
#include "hunch/tensor/device.h"

namespace hunch::tensor {

// What a launch and a recording need to know of a GPU; from cudaDeviceProp.
struct CudaProperties {
  int multiprocessors = 0;
  int warp_size = 32;
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  int max_blocks_per_multiprocessor = 0;
  int registers_per_block = 0;
  int registers_per_multiprocessor = 0;
  int64_t shared_bytes_per_block = 0;        // without opting in
  int64_t shared_bytes_per_block_optin = 0;  // the most that a kernel may ask for
  int64_t shared_bytes_per_multiprocessor = 0;
  int64_t shared_bytes_reserved_per_block = 0;  // the driver's own
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int compute_major = 0, compute_minor = 0;
  int compute() const { return compute_major * 10 + compute_minor; }  // 90 for sm_90
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;

  // Calls `body` once with the device's stream (a cudaStream_t); it enqueues work there and returns a
  // cudaError_t, which must be cudaSuccess. Where a probe listens that has no tracer, the work is reported as
  // one piece of device work, timed by a pair of events: what `body` enqueued, with `work`'s name and sizes.
  void launch(const base::WorkInfo& work, base::FunctionRef<int(void* stream)> body);

  void* stream() const;
  const CudaProperties& properties() const;

  // Zeros in device memory, for kernels by which blocks find out who is last: they leave them as zeros. The
  // same ones at every call: work on the stream is in order.
  static constexpr int kCounters = 8192;
  uint32_t* counters() const;

  const DeviceInfo& info() const override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) override;
  void upload(void* target, const void* source, std::size_t bytes) override;
  void download(void* target, const void* source, std::size_t bytes) override;
  void synchronize() override;
  MemoryStats memory() const override;
  void reset_peak() override;
  int64_t available_bytes() const override;
  void empty_cache() override;
  void set_poison(bool on) override;
  bool poisons() const override;
  CudaDevice* as_cuda() override { return this; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hunch::tensor
