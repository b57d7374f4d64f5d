// The CUDA device. Buffers are freed in stream order by the cache; a block that really goes back to the
// driver does so through cudaFree, which waits for the device.
//
// Timing by events, for probes without a tracer: each launch stands between two events. When the host next
// waits for the stream, one more event, recorded and waited for on its own, ties the device's clock to the
// host's; so times are the host's to within that wait, and durations are the events' own.
#include "hunch/tensor/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "hunch/base/check.h"
#include "hunch/base/clock.h"
#include "hunch/tensor/caching_allocator.h"
#include "hunch/tensor/cuda.h"
#include "hunch/tensor/cuda_check.h"

namespace hunch::tensor {
namespace {

std::string_view api_of(base::WorkKind kind) {
  switch (kind) {
    case base::WorkKind::kernel:
      return "cudaLaunchKernel";
    case base::WorkKind::memcpy:
      return "cudaMemcpyAsync";
    case base::WorkKind::memset:
      return "cudaMemsetAsync";
  }
  HUNCH_CHECK(false, "no such kind of work");
}

CudaProperties properties_of(const cudaDeviceProp& device) {
  CudaProperties own;
  own.multiprocessors = device.multiProcessorCount;
  own.warp_size = device.warpSize;
  own.max_threads_per_block = device.maxThreadsPerBlock;
  own.max_threads_per_multiprocessor = device.maxThreadsPerMultiProcessor;
  own.max_blocks_per_multiprocessor = device.maxBlocksPerMultiProcessor;
  own.registers_per_block = device.regsPerBlock;
  own.registers_per_multiprocessor = device.regsPerMultiprocessor;
  own.shared_bytes_per_block = static_cast<int64_t>(device.sharedMemPerBlock);
  own.shared_bytes_per_block_optin = static_cast<int64_t>(device.sharedMemPerBlockOptin);
  own.shared_bytes_per_multiprocessor = static_cast<int64_t>(device.sharedMemPerMultiprocessor);
  own.shared_bytes_reserved_per_block = static_cast<int64_t>(device.reservedSharedMemPerBlock);
  own.l2_bytes = device.l2CacheSize;
  own.memory_bytes = static_cast<int64_t>(device.totalGlobalMem);
  own.compute_major = device.major;
  own.compute_minor = device.minor;
  return own;
}

DeviceInfo info_of(int index, const cudaDeviceProp& device) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = index;
  info.name = device.name;
  info.multiprocessors = device.multiProcessorCount;
  info.memory_bytes = static_cast<int64_t>(device.totalGlobalMem);
  info.compute_major = device.major;
  info.compute_minor = device.minor;
  info.features = fmt::format("sm_{}{}", device.major, device.minor);
  return info;
}

}  // namespace

void check_cuda(int error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  const auto code = static_cast<cudaError_t>(error);
  base::check_failed(call, file, line,
                     fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code)));
}

CudaStatus cuda_status() {
  CudaStatus status;
  status.built = true;
  cudaRuntimeGetVersion(&status.runtime_version);
  cudaDriverGetVersion(&status.driver_version);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();  // an error here is an answer, not one for the next call to find
  if (status.driver_version == 0) {
    status.missing = "this machine has no NVIDIA driver";
    status.remedy = "--device cpu";
  } else if (error == cudaErrorInsufficientDriver) {
    status.missing = fmt::format("the NVIDIA driver serves CUDA {}.{}, and this build needs {}.{}",
                                 status.driver_version / 1000, status.driver_version % 1000 / 10,
                                 status.runtime_version / 1000, status.runtime_version % 1000 / 10);
    status.remedy = "a newer driver";
  } else if (error != cudaSuccess || count == 0) {
    status.missing = fmt::format("no CUDA device can be used: {}",
                                 error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
    status.remedy = "nvidia-smi, and CUDA_VISIBLE_DEVICES";
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, index) == cudaSuccess)
      status.devices.push_back(info_of(index, device));
  }
  return status;
}

struct CudaDevice::State {
  struct Timed {
    base::WorkInfo work;
    base::Probe* probe = nullptr;
    uint64_t correlation = 0;
    cudaEvent_t begin = nullptr, end = nullptr;
  };

  // The runtime's current device is a thread's own.
  void activate() const {
    thread_local int current = -1;
    if (current == info.index) return;
    HUNCH_CUDA_CHECK(cudaSetDevice(info.index));
    current = info.index;
  }

  cudaEvent_t event() {
    if (!spare.empty()) {
      const cudaEvent_t event = spare.back();
      spare.pop_back();
      return event;
    }
    cudaEvent_t event = nullptr;
    HUNCH_CUDA_CHECK(cudaEventCreate(&event));
    return event;
  }

  // Reports what was timed; the stream is idle.
  void report_timed() {
    const std::lock_guard lock(mutex);
    if (timed.empty()) return;
    const cudaEvent_t anchor = event();
    HUNCH_CUDA_CHECK(cudaEventRecord(anchor, stream));
    HUNCH_CUDA_CHECK(cudaEventSynchronize(anchor));
    const base::Ns now = base::now_ns();
    const auto nanoseconds = [](cudaEvent_t from, cudaEvent_t to) {
      float milliseconds = 0;
      HUNCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, from, to));
      return static_cast<base::Ns>(std::llround(static_cast<double>(milliseconds) * 1e6));
    };
    for (const Timed& each : timed) {
      const base::Ns start = now - nanoseconds(each.begin, anchor);
      each.probe->device_work(each.correlation, each.work, kStream, start,
                              start + nanoseconds(each.begin, each.end));
      spare.push_back(each.begin);
      spare.push_back(each.end);
    }
    spare.push_back(anchor);
    timed.clear();
  }

  static constexpr int64_t kStream = 7;  // as CUPTI numbers the first stream in most programs

  DeviceInfo info;
  CudaProperties properties;
  cudaStream_t stream = nullptr;
  uint32_t* counters = nullptr;
  std::atomic<bool> poison{false};
  std::unique_ptr<CachingAllocator> allocator;
  std::mutex mutex;  // guards what follows
  std::vector<Timed> timed;
  std::vector<cudaEvent_t> spare;
};

CudaDevice::CudaDevice(int index) : state_(std::make_unique<State>()) {
  State& state = *state_;
  cudaDeviceProp device;
  HUNCH_CUDA_CHECK(cudaGetDeviceProperties(&device, index));
  state.info = info_of(index, device);
  state.properties = properties_of(device);
  state.activate();
  HUNCH_CUDA_CHECK(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking));
  HUNCH_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&state.counters), kCounters * sizeof(uint32_t)));
  HUNCH_CUDA_CHECK(cudaMemsetAsync(state.counters, 0, kCounters * sizeof(uint32_t), state.stream));
  CachingAllocator::Source source;
  source.allocate = [&state](std::size_t bytes) -> void* {
    state.activate();
    void* block = nullptr;
    const cudaError_t error = cudaMalloc(&block, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    HUNCH_CUDA_CHECK(error);
    return block;
  };
  source.release = [&state](void* block, std::size_t) {
    state.activate();
    HUNCH_CUDA_CHECK(cudaFree(block));
  };
  source.drain = [&state] { HUNCH_CUDA_CHECK(cudaStreamSynchronize(state.stream)); };
  state.allocator = std::make_unique<CachingAllocator>(std::move(source), state.info.memory_bytes);
}

CudaDevice::~CudaDevice() {
  HUNCH_CHECK(memory().in_use_bytes == 0, "a buffer outlives its device");
  state_->activate();
  HUNCH_CUDA_CHECK(cudaStreamSynchronize(state_->stream));
  state_->allocator->empty_cache();
  for (const cudaEvent_t event : state_->spare) cudaEventDestroy(event);
  cudaFree(state_->counters);
  cudaStreamDestroy(state_->stream);
}

void CudaDevice::launch(const base::WorkInfo& work, base::FunctionRef<int(void* stream)> body) {
  State& state = *state_;
  state.activate();
  base::Probe* const probe = base::current_probe();
  if (probe == nullptr || probe->traces_device()) {
    check_cuda(body(state.stream), work.name.data(), __FILE__, __LINE__);
    return;
  }
  const std::lock_guard lock(state.mutex);
  State::Timed timed{work, probe, 0, state.event(), state.event()};
  timed.correlation = probe->launch_begin(api_of(work.kind), work);
  HUNCH_CUDA_CHECK(cudaEventRecord(timed.begin, state.stream));
  check_cuda(body(state.stream), work.name.data(), __FILE__, __LINE__);
  HUNCH_CUDA_CHECK(cudaEventRecord(timed.end, state.stream));
  probe->launch_end(timed.correlation);
  state.timed.push_back(timed);
}

void* CudaDevice::stream() const { return state_->stream; }
uint32_t* CudaDevice::counters() const { return state_->counters; }
const CudaProperties& CudaDevice::properties() const { return state_->properties; }
const DeviceInfo& CudaDevice::info() const { return state_->info; }

void* CudaDevice::allocate(std::size_t bytes) {
  void* const memory = state_->allocator->allocate(bytes);
  if (memory != nullptr && state_->poison.load(std::memory_order_relaxed)) {
    state_->activate();
    HUNCH_CUDA_CHECK(cudaMemsetAsync(memory, 0xFF, bytes, state_->stream));
  }
  return memory;
}

void CudaDevice::release(void* memory, std::size_t bytes) { state_->allocator->release(memory, bytes); }

void CudaDevice::upload(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  state_->activate();
  HUNCH_CUDA_CHECK(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, state_->stream));
  HUNCH_CUDA_CHECK(cudaStreamSynchronize(state_->stream));
}

void CudaDevice::download(void* target, const void* source, std::size_t bytes) {
  synchronize();
  if (bytes == 0) return;
  HUNCH_CUDA_CHECK(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, state_->stream));
  HUNCH_CUDA_CHECK(cudaStreamSynchronize(state_->stream));
}

void CudaDevice::synchronize() {
  state_->activate();
  const base::Ns start = base::now_ns();
  HUNCH_CUDA_CHECK(cudaStreamSynchronize(state_->stream));
  const base::Ns end = base::now_ns();
  state_->report_timed();
  base::Probe* const probe = base::current_probe();
  if (probe != nullptr && !probe->traces_device()) probe->host_wait("cudaStreamSynchronize", start, end);
}

MemoryStats CudaDevice::memory() const { return state_->allocator->stats(); }
void CudaDevice::reset_peak() { state_->allocator->reset_peak(); }

int64_t CudaDevice::available_bytes() const {
  state_->activate();
  std::size_t free = 0, total = 0;
  HUNCH_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<int64_t>(free) + state_->allocator->cached_bytes();
}

void CudaDevice::empty_cache() { state_->allocator->empty_cache(); }
bool CudaDevice::poisons() const { return state_->poison.load(std::memory_order_relaxed); }
void CudaDevice::set_poison(bool on) { state_->poison.store(on, std::memory_order_relaxed); }

}  // namespace hunch::tensor
