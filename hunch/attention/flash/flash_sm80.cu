// The instances of the sm_80 kernel, and the launch of the one that flash_kernel.h chose.
#include "hunch/attention/flash/flash_sm80.h"

#include "hunch/attention/flash/few_rows_sm80.h"
#include "hunch/attention/flash/flash_sm80.cuh"
#include "hunch/attention/tiles/launch_sm80.cuh"

namespace hunch::attention::sm80 {
namespace {

template <class T, flash::Shape kShape>
using ShapeOf =
    FlashShape<T, flash::tile_of(kShape).dim, flash::tile_of(kShape).rows, flash::tile_of(kShape).keys,
               flash::tile_of(kShape).warps, flash::tile_of(kShape).blocks_per_sm,
               flash::tile_of(kShape).query_in_registers, flash::tile_of(kShape).stages>;

template <class Shape, bool kGeneral, bool kDecode>
Launch make(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  const int64_t tiles = int64_t{p.length + Shape::kRows - 1} / Shape::kRows;
  const int64_t blocks =
      kDecode ? flash::packed_tiles(p, Shape::kRows) * p.splits : tiles * p.batch * p.heads;
  Launch launch = make_launch<flash_forward_kernel<Shape, kGeneral, kDecode>>(name, blocks, Shape::kThreads,
                                                                              Shape::kSharedBytes);
  split_keys(launch, p, kernel);
  return launch;
}

template <class T, flash::Shape kShape, bool kGeneral, bool kDecode>
Launch make_of(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  static_assert(ShapeOf<T, kShape>::kSharedBytes == flash::tile_of(kShape).shared_bytes());
  static_assert(!kDecode || ShapeOf<T, kShape>::kRows == flash::kPackedRows);
  return make<ShapeOf<T, kShape>, kGeneral, kDecode>(p, kernel, name);
}

template <class T>
Launch launch_of(const AttentionParams& p, const flash::Kernel& kernel, std::string_view name) {
  using flash::Shape;
  switch (kernel.shape) {
    case Shape::small:
      return make_of<T, Shape::small, false, false>(p, kernel, name);
    case Shape::middle:
      return make_of<T, Shape::middle, false, false>(p, kernel, name);
    case Shape::wide:
      return make_of<T, Shape::wide, false, false>(p, kernel, name);
    case Shape::deep64:
      return make_of<T, Shape::deep64, false, true>(p, kernel, name);
    case Shape::deep128:
      return make_of<T, Shape::deep128, false, true>(p, kernel, name);
    case Shape::low64:
      return kernel.packed ? make_of<T, Shape::low64, true, true>(p, kernel, name)
                           : make_of<T, Shape::low64, true, false>(p, kernel, name);
    case Shape::low128:
      return kernel.packed ? make_of<T, Shape::low128, true, true>(p, kernel, name)
                           : make_of<T, Shape::low128, true, false>(p, kernel, name);
    case Shape::low256:
      if (kernel.general)
        return kernel.packed ? make_of<T, Shape::low256, true, true>(p, kernel, name)
                             : make_of<T, Shape::low256, true, false>(p, kernel, name);
      return kernel.packed ? make_of<T, Shape::low256, false, true>(p, kernel, name)
                           : make_of<T, Shape::low256, false, false>(p, kernel, name);
    default:
      break;
  }
  return make_of<T, Shape::narrow, false, false>(p, kernel, name);
}

}  // namespace

Launch flash_forward(const AttentionParams& params, ElementType type, const flash::Kernel& kernel) {
  if (kernel.few) return flash_few_rows(params, type, kernel);
  const std::string_view name = flash::kernel_name(kernel, type);
  return type == ElementType::bf16 ? launch_of<__nv_bfloat16>(params, kernel, name)
                                   : launch_of<__half>(params, kernel, name);
}

}  // namespace hunch::attention::sm80
