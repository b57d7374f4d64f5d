// Which instance of the memory-efficient kernels a call takes: by type and head_dim, and for the large ones
// by the shared memory that the device lets a block have (sm_86 and sm_89: 99 KiB). Masks and scales that are
// not positive take the general ones.
#include "hunch/attention/efficient/efficient_sm80.h"

#include <algorithm>

#include "hunch/attention/efficient/efficient_f32_sm80.cuh"
#include "hunch/attention/efficient/efficient_sm80.cuh"
#include "hunch/attention/tiles/launch_sm80.cuh"

namespace hunch::attention::sm80 {
namespace {

template <class Shape, bool kGeneral>
Launch make(const AttentionParams& p, std::string_view name) {
  const int64_t blocks = int64_t{p.length + Shape::kRows - 1} / Shape::kRows * p.batch * p.heads;
  if constexpr (sizeof(typename Shape::T) == 4) {
    return make_launch<efficient_forward_f32_kernel<Shape, kGeneral>>(name, blocks, Shape::kThreads,
                                                                      Shape::kSharedBytes);
  } else {
    return make_launch<efficient_forward_kernel<Shape, kGeneral>>(name, blocks, Shape::kThreads,
                                                                  Shape::kSharedBytes);
  }
}

template <class Shape>
Launch general_or_not(const AttentionParams& p, std::string_view name) {
  const bool general = p.mask != nullptr || !(p.scale > 0.0f);
  return general ? make<Shape, true>(p, name) : make<Shape, false>(p, name);
}

template <class T>
Launch pick(const AttentionParams& p, std::string_view name) {
  const int dim = std::max(p.head_dim, p.value_dim);
  if (dim <= 64) return general_or_not<EfficientShape<T, 64, 128, 64, 4, 2>>(p, name);
  if (dim <= 128) return general_or_not<EfficientShape<T, 128, 128, 64, 4, 2>>(p, name);
  using Wide = EfficientShape<T, 256, 128, 64, 8, 1>;
  return shared_limit() >= Wide::kSharedBytes ? general_or_not<Wide>(p, name)
                                              : general_or_not<EfficientShape<T, 256, 64, 32, 4, 1>>(p, name);
}

Launch pick_f32(const AttentionParams& p, std::string_view name) {
  using Wide = EfficientShape<float, 256, 128, 32, 8, 1>;
  const int dim = std::max(p.head_dim, p.value_dim);
  if (dim <= 64) return general_or_not<EfficientShape<float, 64, 128, 32, 4, 2>>(p, name);
  if (dim <= 128) return general_or_not<EfficientShape<float, 128, 128, 16, 4, 2>>(p, name);
  return shared_limit() >= Wide::kSharedBytes
             ? general_or_not<Wide>(p, name)
             : general_or_not<EfficientShape<float, 256, 32, 16, 2, 1>>(p, name);
}

}  // namespace

Launch efficient_forward(const AttentionParams& params, ElementType type) {
  switch (type) {
    case ElementType::f32:
      return pick_f32(params, "hunch::attention::sm80::efficient_forward_kernel<f32>");
    case ElementType::bf16:
      return pick<__nv_bfloat16>(params, "hunch::attention::sm80::efficient_forward_kernel<bf16>");
    case ElementType::f16:
      break;
  }
  return pick<__half>(params, "hunch::attention::sm80::efficient_forward_kernel<f16>");
}

}  // namespace hunch::attention::sm80
