// A device: where buffers live and kernels run, with one in-order stream and an allocator that accounts
// what is in use. Memory is freed in stream order, as CUDA's caching allocators do it: a buffer that the
// host drops may be handed to later work of the same stream at once, while earlier work still uses it.
// So `in_use` follows the host's program, whatever the device has done so far, and peaks repeat exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hunch/base/thread_pool.h"

namespace hunch::tensor {

enum class DeviceKind { cpu, cuda };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  std::string name;          // "AMD EPYC 7763", "NVIDIA H200"
  int multiprocessors = 0;   // CPU: worker threads
  int64_t memory_bytes = 0;  // total
  int compute_major = 0;     // CUDA only
  int compute_minor = 0;
  std::string features;  // CPU: the SIMD target in use, "AVX2"
};

struct MemoryStats {
  int64_t in_use_bytes = 0;
  int64_t peak_bytes = 0;
};

class CpuDevice;
class CudaDevice;

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // `bytes` of uninitialised memory, aligned to 64 bytes; reports to the Probe. Throws std::bad_alloc.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) = 0;

  // Host bytes into device memory and back, in stream order. upload returns when `source` may be reused,
  // download when `target` is filled. Neither is recorded as device work; download waits for the stream
  // as synchronize does.
  virtual void upload(void* target, const void* source, std::size_t bytes) = 0;
  virtual void download(void* target, const void* source, std::size_t bytes) = 0;

  virtual void synchronize() = 0;  // returns when all launched work is done; reported as a host wait
  virtual MemoryStats memory() const = 0;
  virtual void reset_peak() = 0;

  // Bytes that an allocation could still get, as far as the system tells.
  virtual int64_t available_bytes() const = 0;

  // Gives back to the system what the allocator keeps for later, so that other libraries can have it.
  virtual void empty_cache() {}

  // While on, every allocation is filled with NaN bit patterns (0xFF bytes) in stream order before use.
  virtual void set_poison(bool on) = 0;
  virtual bool poisons() const { return false; }

  virtual CpuDevice* as_cpu() { return nullptr; }
  virtual CudaDevice* as_cuda() { return nullptr; }
};

}  // namespace hunch::tensor
