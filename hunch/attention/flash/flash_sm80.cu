// Which instance of the sm_80 kernel a call takes.
//
// Shapes by measurement on one H200 (ladder in flash_sm80.cuh): head_dim to 64: 128 rows x 96 keys, and 64 x
// 64 for short causal ones, where small tiles waste less above the diagonal; to 128: 128 x 64 with one stage;
// to 256: 128 x 80 with one stage on devices with the shared memory for it, 64 x 32 on those without (sm_86,
// sm_89). Masks, windows, capped scores and scales that are not positive take the general kernel; few queries
// that share key heads, or split keys, the packed one.
#include "hunch/attention/flash/flash_sm80.h"

#include <algorithm>

#include "hunch/attention/flash/flash_sm80.cuh"
#include "hunch/attention/tiles/launch_sm80.cuh"

namespace hunch::attention::sm80 {
namespace {

constexpr int kPackedRows = 64;  // rows a block of every packed instance

bool is_general(const AttentionParams& p) {
  return p.mask != nullptr || !(p.scale > 0.0f) || p.window > 0 || p.softcap > 0.0f;
}

// Queries of one head that fill at most half a tile, in heads that share their keys.
bool is_packed(const AttentionParams& p) {
  return p.splits > 1 || (p.heads > p.kv_heads && p.length <= kPackedRows / 2);
}

int64_t packed_tiles(const AttentionParams& p) {
  const int64_t rows = int64_t{p.heads / p.kv_heads} * p.length;
  return (rows + kPackedRows - 1) / kPackedRows * p.batch * p.kv_heads;
}

template <class Shape, bool kGeneral, bool kDecode>
Launch make(const AttentionParams& p, std::string_view name) {
  const int64_t tiles = int64_t{p.length + Shape::kRows - 1} / Shape::kRows;
  const int64_t blocks = kDecode ? packed_tiles(p) * p.splits : tiles * p.batch * p.heads;
  Launch launch = make_launch<flash_forward_kernel<Shape, kGeneral, kDecode>>(name, blocks, Shape::kThreads,
                                                                              Shape::kSharedBytes);
  if (p.splits > 1) {
    launch.workspace_floats = int64_t{p.splits} * p.batch * p.heads * p.length * (p.value_dim + 1);
    launch.needs_counters = true;  // one a tile; flash_splits splits no more than fill a device once
  }
  return launch;
}

template <class T>
Launch pick(const AttentionParams& p, std::string_view name) {
  using Small = FlashShape<T, 64, 64, 64, 4, 3, true>;
  using Narrow = FlashShape<T, 64, 128, 96, 4, 2, false>;
  using Middle = FlashShape<T, 128, 128, 64, 4, 2, false, 1>;
  using Wide = FlashShape<T, 256, 128, 80, 8, 1, false, 1>;
  using Low64 = FlashShape<T, 64, 64, 64, 4, 2, true>;
  using Low128 = FlashShape<T, 128, 64, 32, 4, 2, true>;
  using Low256 = FlashShape<T, 256, 64, 32, 4, 1, false>;
  using Deep64 = FlashShape<T, 64, 64, 128, 4, 2, true>;  // more bytes under way: decoding waits for memory
  using Deep128 = FlashShape<T, 128, 64, 64, 4, 2, true>;
  static_assert(Deep64::kRows == kPackedRows && Deep128::kRows == kPackedRows);
  static_assert(Low64::kRows == kPackedRows && Low128::kRows == kPackedRows && Low256::kRows == kPackedRows);
  const bool general = is_general(p);
  const int dim = std::max(p.head_dim, p.value_dim);
  if (is_packed(p)) {
    if (general)
      return dim <= 64    ? make<Low64, true, true>(p, name)
             : dim <= 128 ? make<Low128, true, true>(p, name)
                          : make<Low256, true, true>(p, name);
    return dim <= 64    ? make<Deep64, false, true>(p, name)
           : dim <= 128 ? make<Deep128, false, true>(p, name)
                        : make<Low256, false, true>(p, name);
  }
  if (general)
    return dim <= 64    ? make<Low64, true, false>(p, name)
           : dim <= 128 ? make<Low128, true, false>(p, name)
                        : make<Low256, true, false>(p, name);
  if (dim <= 64)
    return p.causal && p.length <= 1024 ? make<Small, false, false>(p, name)
                                        : make<Narrow, false, false>(p, name);
  if (dim <= 128) return make<Middle, false, false>(p, name);
  return shared_limit() >= Wide::kSharedBytes ? make<Wide, false, false>(p, name)
                                              : make<Low256, false, false>(p, name);
}

}  // namespace

int flash_splits(const AttentionParams& p, int multiprocessors) {
  if (p.causal) return 1;
  const int64_t blocks = packed_tiles(p);
  const int64_t slots = int64_t{2} * multiprocessors;
  if (blocks == 0 || blocks * 4 > slots * 3) return 1;
  const int64_t most = std::max(1, p.kv_length / (4 * 64));  // a part is worth at least four tiles
  return static_cast<int>(std::clamp<int64_t>(slots / blocks, 1, std::min<int64_t>(most, 64)));
}

Launch flash_forward(const AttentionParams& params, ElementType type) {
  return type == ElementType::bf16
             ? pick<__nv_bfloat16>(params, "hunch::attention::sm80::flash_forward_kernel<bf16>")
             : pick<__half>(params, "hunch::attention::sm80::flash_forward_kernel<f16>");
}

}  // namespace hunch::attention::sm80
