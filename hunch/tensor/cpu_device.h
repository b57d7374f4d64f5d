// The CPU as a device: a stream thread that runs launched kernels in order, each over a pool of workers.
// The host enqueues and goes on, as with a GPU; so launch times, device times and their correlation are
// real, and a recording has the same form on both.
#pragma once

#include <functional>
#include <memory>

#include "hunch/base/probe.h"
#include "hunch/tensor/device.h"

namespace hunch::tensor {

class CpuDevice final : public Device {
 public:
  using Body = std::function<void(base::ThreadPool&)>;

  static constexpr int64_t kStream = 7;  // the id of its stream in recordings, PyTorch's default

  explicit CpuDevice(int threads = base::ThreadPool::hardware_threads());
  ~CpuDevice() override;

  // Enqueues `body` as one piece of device work and returns. `work.name` must outlive the recording.
  // The body holds raw pointers into buffers, never owners: see device.h on stream order.
  void launch(const base::WorkInfo& work, Body body);

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
  CpuDevice* as_cpu() override { return this; }
  int threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hunch::tensor
