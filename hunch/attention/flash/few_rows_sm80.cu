// The instances of the sm_80 kernel for few rows, and the launch of the one that flash_kernel.h chose.
#include "hunch/attention/flash/few_rows_sm80.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "hunch/attention/flash/few_rows_sm80.cuh"
#include "hunch/attention/tiles/launch_sm80.cuh"

namespace hunch::attention::sm80 {
namespace {

template <class T, flash::Tile kTile>
using ShapeOf = FewRowsShape<T, kTile.dim, kTile.keys / kTile.warps, kTile.warps, kTile.stages,
                             kTile.blocks_per_sm, kTile.query_in_registers>;

template <class T, flash::Shape kShape, bool kGeneral>
Launch make(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  constexpr flash::Tile kTile = flash::tile_of(kShape);
  using Shape = ShapeOf<T, kTile>;
  static_assert(Shape::kSharedBytes == kTile.shared_bytes() && Shape::kRows == kTile.rows);
  Launch launch = make_launch<flash_few_rows_kernel<Shape, kGeneral>>(
      name, flash::packed_tiles(p, Shape::kRows) * p.splits, Shape::kThreads, Shape::kSharedBytes);
  split_keys(launch, p, kernel);
  return launch;
}

template <class T, flash::Shape kShape>
Launch make_of(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  return kernel.general ? make<T, kShape, true>(p, kernel, name) : make<T, kShape, false>(p, kernel, name);
}

template <class T>
Launch launch_of(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  using flash::Shape;
  switch (kernel.shape) {
    case Shape::few64:
      return make_of<T, Shape::few64>(p, kernel, name);
    case Shape::few64_many:
      return make_of<T, Shape::few64_many>(p, kernel, name);
    case Shape::few128:
      return make_of<T, Shape::few128>(p, kernel, name);
    case Shape::few128_many:
      return make_of<T, Shape::few128_many>(p, kernel, name);
    case Shape::few256_many:
      return make_of<T, Shape::few256_many>(p, kernel, name);
    default:
      break;
  }
  return make_of<T, Shape::few256>(p, kernel, name);
}

int ask_largest_cluster() {
  constexpr flash::Tile kTile = flash::tile_of(flash::Shape::few256);  // the one with the most memory
  static_assert(kTile.shared_bytes() >= flash::tile_of(flash::Shape::few128).shared_bytes() &&
                kTile.shared_bytes() >= flash::tile_of(flash::Shape::few64).shared_bytes());
  using Shape = ShapeOf<__half, kTile>;
  constexpr auto kKernel = flash_few_rows_kernel<Shape, false>;
  // Which also allows the kernel its memory and the larger clusters.
  const Launch launch = describe_launch<kKernel>("", 1, Shape::kThreads, Shape::kSharedBytes);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(flash::kMostClustered));
  config.blockDim = dim3(launch.threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_bytes);
  int blocks = 0;
  if (cudaOccupancyMaxPotentialClusterSize(&blocks, reinterpret_cast<const void*>(kKernel), &config) !=
      cudaSuccess) {
    cudaGetLastError();
    return 1;
  }
  return blocks;
}

}  // namespace

int largest_few_rows_cluster() {
  static std::array<std::atomic<int>, 64> known{};  // by ordinal; 0: not asked yet
  std::atomic<int>& of = known[static_cast<std::size_t>(current_device()) % known.size()];
  if (of.load(std::memory_order_relaxed) == 0) of.store(std::max(1, ask_largest_cluster()));
  return of.load();
}

Launch flash_few_rows(const AttentionParams& params, ElementType type, const flash::Kernel& kernel) {
  const std::string_view name = flash::kernel_name(kernel, type);
  return type == ElementType::bf16 ? launch_of<__nv_bfloat16>(params, kernel, name)
                                   : launch_of<__half>(params, kernel, name);
}

}  // namespace hunch::attention::sm80
