// A cache a thread, so that launching threads do not meet. See occupancy.h.
#include "hunch/record/cupti/occupancy.h"

#include <unordered_map>

#include "hunch/base/nvidia_libraries.h"
#include "hunch/base/shared_library.h"

namespace hunch::record::cupti {
namespace {

struct Key {
  CUfunction function = nullptr;
  uint32_t block = 0;
  uint32_t dynamic_shared = 0;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const auto sizes = (uint64_t{key.block} << 32) | key.dynamic_shared;
    return (reinterpret_cast<std::size_t>(key.function) ^ (sizes * 0x9E3779B97F4A7C15U)) *
           0xBF58476D1CE4E5B9U;
  }
};

struct Launched {
  CUfunction function = nullptr;
  uint32_t block = 0;
  uint32_t dynamic_shared = 0;
};

Launched launched(CUpti_CallbackId id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& call = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      if (call.config == nullptr) return {};
      const CUlaunchConfig& config = *call.config;
      return {call.f, config.blockDimX * config.blockDimY * config.blockDimZ, config.sharedMemBytes};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& call = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
      return {call.f, call.blockDimX * call.blockDimY * call.blockDimZ, call.sharedMemBytes};
    }
    default: {
      const auto& call = *static_cast<const cuLaunchKernel_params*>(parameters);
      return {call.f, call.blockDimX * call.blockDimY * call.blockDimZ, call.sharedMemBytes};
    }
  }
}

}  // namespace

DriverOccupancy::DriverOccupancy() {
  const auto driver = base::SharedLibrary::open(base::nvidia::driver());
  if (driver) calculator_ = driver->function<Calculator>("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

const std::vector<CUpti_CallbackId>& DriverOccupancy::launches() {
  static const std::vector<CUpti_CallbackId> ids = {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                                                    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                                                    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                                                    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
                                                    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
                                                    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz};
  return ids;
}

int32_t DriverOccupancy::blocks(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (calculator_ == nullptr || call.functionParams == nullptr) return -1;
  const Launched what = launched(id, call.functionParams);
  if (what.function == nullptr || what.block == 0) return -1;
  // One tracer a process: so one cache a thread.
  struct Cache {
    uint64_t generation = 0;
    std::unordered_map<Key, int32_t, KeyHash> known;
  };
  thread_local Cache cache;
  const uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (cache.generation != generation) {
    cache.known.clear();
    cache.generation = generation;
  }
  const auto [entry, added] = cache.known.try_emplace({what.function, what.block, what.dynamic_shared}, -1);
  if (added) entry->second = ask(what.function, static_cast<int>(what.block), what.dynamic_shared);
  return entry->second;
}

int32_t DriverOccupancy::ask(CUfunction function, int block, std::size_t dynamic_shared) const {
  int blocks = -1;
  if (calculator_(&blocks, function, block, dynamic_shared) != CUDA_SUCCESS) return -1;
  return blocks;
}

}  // namespace hunch::record::cupti
