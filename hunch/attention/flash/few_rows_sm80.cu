// The instances of the sm_80 kernel for few rows, and the launch of the one that flash_kernel.h chose.
#include "hunch/attention/flash/few_rows_sm80.h"

#include <array>
#include <mutex>

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
  constexpr auto kKernel = flash_few_rows_kernel<Shape, kGeneral>;
  Launch launch = make_launch<kKernel, true>(name, flash::packed_tiles(p, Shape::kRows) * p.splits,
                                             Shape::kThreads, Shape::kSharedBytes);
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
    case Shape::few64_three:
      return make_of<T, Shape::few64_three>(p, kernel, name);
    case Shape::few64_four:
      return make_of<T, Shape::few64_four>(p, kernel, name);
    case Shape::few128:
      return make_of<T, Shape::few128>(p, kernel, name);
    case Shape::few128_two:
      return make_of<T, Shape::few128_two>(p, kernel, name);
    case Shape::few128_three:
      return make_of<T, Shape::few128_three>(p, kernel, name);
    case Shape::few128_four:
      return make_of<T, Shape::few128_four>(p, kernel, name);
    case Shape::few256_three:
      return make_of<T, Shape::few256_three>(p, kernel, name);
    case Shape::few256_four:
      return make_of<T, Shape::few256_four>(p, kernel, name);
    default:
      break;
  }
  return make_of<T, Shape::few256>(p, kernel, name);
}

flash::Clusters ask_clusters() {
  constexpr flash::Tile kTile = flash::tile_of(flash::Shape::few256);  // the one with the most memory
  static_assert(kTile.shared_bytes() >= flash::tile_of(flash::Shape::few128).shared_bytes() &&
                kTile.shared_bytes() >= flash::tile_of(flash::Shape::few64).shared_bytes());
  using Shape = ShapeOf<__half, kTile>;
  constexpr auto kKernel = flash_few_rows_kernel<Shape, false>;
  // Which also allows the kernel its memory and the larger clusters.
  const Launch launch = describe_launch<kKernel, true>("", 1, Shape::kThreads, Shape::kSharedBytes);
  flash::Clusters clusters;
  for (std::size_t i = 0; i < clusters.kSizes.size(); ++i) {
    const auto size = static_cast<unsigned>(clusters.kSizes[i]);
    cudaLaunchAttribute attribute = cluster_attribute(size);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(size);
    config.blockDim = dim3(launch.threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_bytes);
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (cudaOccupancyMaxActiveClusters(&clusters.at_once[i], reinterpret_cast<const void*>(kKernel),
                                       &config) != cudaSuccess) {
      cudaGetLastError();
      clusters.at_once[i] = 0;
    }
  }
  return clusters;
}

}  // namespace

flash::Clusters few_rows_clusters() {
  struct Known {
    std::once_flag asked;
    flash::Clusters clusters;
  };
  static std::array<Known, 64> devices;  // by ordinal
  Known& known = devices[static_cast<std::size_t>(current_device()) % devices.size()];
  std::call_once(known.asked, [&] { known.clusters = ask_clusters(); });
  return known.clusters;
}

Launch flash_few_rows(const AttentionParams& params, ElementType type, const flash::Kernel& kernel) {
  const std::string_view name = flash::kernel_name(kernel, type);
  return type == ElementType::bf16 ? launch_of<__nv_bfloat16>(params, kernel, name)
                                   : launch_of<__half>(params, kernel, name);
}

}  // namespace hunch::attention::sm80
