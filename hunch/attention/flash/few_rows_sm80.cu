// The instances of the sm_80 kernel for few rows, and the launch of the one that flash_kernel.h chose.
#include "hunch/attention/flash/few_rows_sm80.h"

#include "hunch/attention/flash/few_rows_sm80.cuh"
#include "hunch/attention/tiles/launch_sm80.cuh"

namespace hunch::attention::sm80 {
namespace {

template <class T, flash::Shape kShape, bool kGeneral>
Launch make(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  constexpr flash::Tile kTile = flash::tile_of(kShape);
  using Shape = FewRowsShape<T, kTile.dim, kTile.keys / kTile.warps, kTile.warps, kTile.stages,
                             kTile.blocks_per_sm, kTile.query_in_registers>;
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

}  // namespace

Launch flash_few_rows(const AttentionParams& params, ElementType type, const flash::Kernel& kernel) {
  const std::string_view name = flash::kernel_name(kernel, type);
  return type == ElementType::bf16 ? launch_of<__nv_bfloat16>(params, kernel, name)
                                   : launch_of<__half>(params, kernel, name);
}

}  // namespace hunch::attention::sm80
