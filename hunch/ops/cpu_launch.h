// How kernels of the CPU device are named and launched: a kernel is a number of tiles that the device's
// workers share, its grid is that number. Names are literals, one a dtype, because a recording keeps them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hunch/tensor/cpu_device.h"
#include "hunch/tensor/dtype.h"

// The names of kernel `op` for every dtype: std::array<std::string_view, 4>, indexed by DType.
#define HUNCH_KERNEL_NAMES(op)                                                        \
  ::std::array<::std::string_view, 4> {                                               \
    "hunch::cpu::" op "<f32>", "hunch::cpu::" op "<bf16>", "hunch::cpu::" op "<f16>", \
        "hunch::cpu::" op "<bool>"                                                    \
  }

namespace hunch::ops {

inline std::string_view kernel_name(const std::array<std::string_view, 4>& names, tensor::DType dtype) {
  return names[static_cast<std::size_t>(dtype)];
}

// Launches tile(index, worker) for each index in [0, tiles) as one kernel; nothing where there are none.
// `tile` is copied into the launch: it holds raw pointers, never tensors.
template <class Tile>
void launch_tiles(tensor::CpuDevice& cpu, std::string_view name, int64_t tiles, const Tile& tile) {
  if (tiles == 0) return;
  base::WorkInfo work;
  work.kind = base::WorkKind::kernel;
  work.name = name;
  work.grid = {static_cast<uint32_t>(tiles), 1, 1};
  work.block = {1, 1, 1};
  cpu.launch(work, [tiles, tile](base::ThreadPool& pool) {
    pool.parallel_for(tiles, [&tile](int64_t index, int worker) { tile(index, worker); });
  });
}

}  // namespace hunch::ops
