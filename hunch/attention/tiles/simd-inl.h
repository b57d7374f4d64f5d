// The vector pieces of the fused kernels, compiled once for each instruction set: widening and rounding,
// packing, the product microkernel and the softmax step. Include it below hwy/foreach_target.h.
//
// Everything works on panels with *queries on the lanes*: a panel holds kVectors vectors of queries, and a
// tile of scores is [keys][lanes]. So both products broadcast one element of K or V and multiply it with a
// vector of the panel; K needs no transpose, maxima and sums need no step across lanes, and the weights are
// already laid out as the second product reads them.
//
// Nothing here reads beyond the elements that the arguments name: memory behind K and V may hold NaN, and
// 0 * NaN is NaN, so tails are computed by narrower kernels and never by padding.
#if defined(HUNCH_ATTENTION_TILES_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HUNCH_ATTENTION_TILES_SIMD_INL_H_
#undef HUNCH_ATTENTION_TILES_SIMD_INL_H_
#else
#define HUNCH_ATTENTION_TILES_SIMD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hunch/tensor/convert.h"
#include "hunch/tensor/dtype.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hunch::attention::tiles {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_CAP_GE512
using FloatTag = hn::CappedTag<float, 16>;
#else
using FloatTag = hn::CappedTag<float, 8>;
#endif
using FloatVec = hn::Vec<FloatTag>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));
// Three vectors of queries a panel. With 16 registers 4 x 3 accumulators, 3 vectors of the panel and one
// broadcast element fill the file; with 32 twice as many rows do.
constexpr int kPanelVectors = 3;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

// ---- element types -------------------------------------------------------------------------------------

HWY_INLINE float WidenOne(tensor::DType dtype, const void* from, int64_t index) {
  if (dtype == tensor::DType::f32) return static_cast<const float*>(from)[index];
  const uint16_t bits = static_cast<const uint16_t*>(from)[index];
  return dtype == tensor::DType::bf16 ? tensor::float_of_bf16(bits) : tensor::float_of_f16(bits);
}

// The address of element `index` of an array of `dtype`.
HWY_INLINE const void* ElementAt(const void* base, tensor::DType dtype, int64_t index) {
  return static_cast<const char*>(base) + index * static_cast<int64_t>(tensor::size_of(dtype));
}

// `count` elements at a stride, to floats side by side; exact.
HWY_INLINE void GatherRow(tensor::DType dtype, const void* from, int64_t stride, int64_t count,
                          float* HWY_RESTRICT to) {
  if (stride == 1) return tensor::widen(dtype, static_cast<const std::byte*>(from), count, to);
  for (int64_t i = 0; i < count; ++i) to[i] = WidenOne(dtype, from, i * stride);
}

// ---- the product microkernel -----------------------------------------------------------------------------

// C[kM][lanes] = A[kM][depth] * B[depth][lanes], with A's element (row, k) at a[row * a_row + k * a_step] and
// B's row k at b[k * ldb]. kScores: stores C and raises the lane-wise maxima in `lanes_io`. Otherwise
// C = C * lanes_io + A * B: the weights' product, with the rescaling of what came before.
template <bool kScores, int kM, int kVectors>
HWY_INLINE void ProductRows(const float* HWY_RESTRICT a, int64_t a_row, int64_t a_step, int64_t depth,
                            const float* HWY_RESTRICT b, int64_t ldb, float* HWY_RESTRICT c, int64_t ldc,
                            float* HWY_RESTRICT lanes_io) {
  const FloatTag d;
  FloatVec sum[kM][kVectors];
#pragma GCC unroll 8
  for (int row = 0; row < kM; ++row) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) sum[row][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    FloatVec right[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) right[v] = hn::Load(d, b + v * kLanes);
#pragma GCC unroll 8
    for (int row = 0; row < kM; ++row) {
      const FloatVec left = hn::Set(d, a[row * a_row]);
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) sum[row][v] = hn::MulAdd(left, right[v], sum[row][v]);
    }
    a += a_step;
    b += ldb;
  }
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) {
    FloatVec lane = hn::Load(d, lanes_io + v * kLanes);
#pragma GCC unroll 8
    for (int row = 0; row < kM; ++row) {
      float* const at = c + row * ldc + v * kLanes;
      if constexpr (kScores) {
        lane = hn::Max(lane, sum[row][v]);
        hn::Store(sum[row][v], d, at);
      } else {
        hn::Store(hn::MulAdd(hn::Load(d, at), lane, sum[row][v]), d, at);
      }
    }
    if constexpr (kScores) hn::Store(lane, d, lanes_io + v * kLanes);
  }
}

// Rows [row, row + kM) of Product, and moves `row` on. No lambda: it would not be inlined.
template <bool kScores, bool kStrips, int kM, int kVectors>
HWY_INLINE void ProductGroup(const float* a, int64_t a_row, int64_t a_step, int64_t depth, const float* b,
                             int64_t ldb, float* c, int64_t ldc, float* lanes_io, int64_t& row) {
  if constexpr (kStrips) {
    a_step = kM;
  }
  ProductRows<kScores, kM, kVectors>(a + row * a_row, kStrips ? 1 : a_row, a_step, depth, b, ldb,
                                     c + row * ldc, ldc, lanes_io);
  row += kM;
}

// All `rows` rows of C in groups of kRows, then narrower ones. Where kStrips, A is packed by PackStrips in
// strips of `a_row` keys: the group at `row`, kM rows wide, starts at a + row * a_row and holds its kM
// elements of each k side by side.
template <bool kScores, bool kStrips, int kVectors>
HWY_NOINLINE void Product(const float* a, int64_t a_row, int64_t a_step, int64_t rows, int64_t depth,
                          const float* b, int64_t ldb, float* c, int64_t ldc, float* lanes_io) {
  // One vector wide, four rows would leave the multipliers waiting for each other: take eight.
  constexpr int kM = kVectors == 1 && !kStrips ? 8 : kRows;
  int64_t row = 0;
  while (row + kM <= rows)
    ProductGroup<kScores, kStrips, kM, kVectors>(a, a_row, a_step, depth, b, ldb, c, ldc, lanes_io, row);
  if (kM > 4 && row + 4 <= rows)
    ProductGroup<kScores, kStrips, 4, kVectors>(a, a_row, a_step, depth, b, ldb, c, ldc, lanes_io, row);
  if (row + 2 <= rows)
    ProductGroup<kScores, kStrips, 2, kVectors>(a, a_row, a_step, depth, b, ldb, c, ldc, lanes_io, row);
  if (row < rows)
    ProductGroup<kScores, kStrips, 1, kVectors>(a, a_row, a_step, depth, b, ldb, c, ldc, lanes_io, row);
}

template <int kCount>
HWY_INLINE void PackStrip(const float* HWY_RESTRICT from, int64_t key, int64_t keys, float* HWY_RESTRICT to,
                          int64_t& row) {
  std::memcpy(to + row * keys + key * kCount, from + row, kCount * sizeof(float));
  row += kCount;
}

// Writes row `key` of `keys` of A transposed, `count` elements, in the order that Product<.., kStrips> reads.
HWY_INLINE void PackStrips(const float* HWY_RESTRICT from, int64_t count, int64_t key, int64_t keys,
                           float* HWY_RESTRICT to) {
  int64_t row = 0;
  while (row + kRows <= count) PackStrip<kRows>(from, key, keys, to, row);
  if (kRows > 4 && row + 4 <= count) PackStrip<4>(from, key, keys, to, row);
  if (row + 2 <= count) PackStrip<2>(from, key, keys, to, row);
  if (row < count) PackStrip<1>(from, key, keys, to, row);
}

// ---- softmax ---------------------------------------------------------------------------------------------

// 2^x for x <= 0, to 1e-7 relative; exactly 0 below 2^-126, so for -inf; NaN stays NaN. x = n + f with n an
// integer and f in [-1/2, 1/2]: a polynomial for 2^f, and 2^n built from its exponent bits.
HWY_INLINE FloatVec Exp2(FloatVec x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const auto shift = hn::Set(d, 12582912.0f + 127.0f);   // 1.5 * 2^23 + the exponent's bias
  const auto clamped = hn::Max(hn::Set(d, -127.0f), x);  // this order: maxps gives its second operand on NaN
  const auto biased = hn::Add(clamped, shift);
  const auto f = hn::Sub(clamped, hn::Sub(biased, shift));
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, biased)));
  auto p = hn::Set(d, 1.33988872e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 9.61843133e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.55034281e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.40226474e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.93147182e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  return hn::Mul(p, power);
}

// A float mask in log2 units. Masks are often made of the lowest finite float, which must stay finite: a row
// of nothing else attends evenly, and one of -inf attends to nothing. So what would overflow in log2 units,
// finite values beyond 2.36e38, is held at the largest float; infinities and NaN stay as they are.
HWY_INLINE FloatVec BiasInLog2(FloatVec bias) {
  const FloatTag d;
  const auto highest = hn::Set(d, std::numeric_limits<float>::max());
  const auto scaled = hn::Min(highest, hn::Max(hn::Neg(highest), hn::Mul(bias, hn::Set(d, kLog2E))));
  return hn::IfThenElse(hn::IsInf(bias), bias, scaled);
}
HWY_INLINE float BiasInLog2(float bias) {
  if (std::isinf(bias)) return bias;
  constexpr float kHighest = std::numeric_limits<float>::max();
  const float scaled = bias * kLog2E;
  return scaled < -kHighest ? -kHighest : scaled > kHighest ? kHighest : scaled;
}

// One step of the online softmax for a tile of scores [keys][ld], in units of log2. `maxima` holds the new
// running maxima, `before` those before this tile. Turns scores into weights, sets `rescale` to what
// earlier sums and outputs must be multiplied with, and updates `sums`.
template <int kVectors>
HWY_NOINLINE void SoftmaxStep(float* HWY_RESTRICT scores, int64_t keys, int64_t ld,
                              const float* HWY_RESTRICT maxima, const float* HWY_RESTRICT before,
                              float* HWY_RESTRICT sums, float* HWY_RESTRICT rescale) {
  const FloatTag d;
  const auto lowest = hn::Set(d, kNegativeInfinity);
  FloatVec top[kVectors], sum[kVectors];
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) {
    // Where nothing is attended yet the maximum is -inf; subtract 0 then, for -inf - -inf is NaN.
    const auto maximum = hn::Load(d, maxima + v * kLanes);
    top[v] = hn::IfThenElse(hn::Eq(maximum, lowest), hn::Zero(d), maximum);
    sum[v] = hn::Zero(d);
  }
  for (int64_t key = 0; key < keys; ++key) {
    float* const row = scores + key * ld;
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      const auto weight = Exp2(hn::Sub(hn::Load(d, row + v * kLanes), top[v]));
      sum[v] = hn::Add(sum[v], weight);
      hn::Store(weight, d, row + v * kLanes);
    }
  }
#pragma GCC unroll 3
  for (int v = 0; v < kVectors; ++v) {
    const auto factor = Exp2(hn::Sub(hn::Load(d, before + v * kLanes), top[v]));
    hn::Store(factor, d, rescale + v * kLanes);
    hn::Store(hn::MulAdd(hn::Load(d, sums + v * kLanes), factor, sum[v]), d, sums + v * kLanes);
  }
}

// Lane-wise maxima of a tile of scores and of what `maxima` holds.
HWY_INLINE void RaiseMaxima(const float* HWY_RESTRICT scores, int64_t keys, int64_t ld, int vectors,
                            float* HWY_RESTRICT maxima) {
  const FloatTag d;
  for (int v = 0; v < vectors; ++v) {
    auto top = hn::Load(d, maxima + v * kLanes);
    for (int64_t key = 0; key < keys; ++key) top = hn::Max(top, hn::Load(d, scores + key * ld + v * kLanes));
    hn::Store(top, d, maxima + v * kLanes);
  }
}

// Scores in log2 units become cap * tanh(score / cap), `cap` in log2 units too. Small ones by the series, as
// the quotient of exponentials has the error of numbers of the size of 1.
HWY_INLINE void CapScores(float* HWY_RESTRICT scores, int64_t keys, int64_t ld, int vectors, float cap) {
  const FloatTag d;
  const auto one = hn::Set(d, 1.0f);
  const auto limit = hn::Set(d, cap);
  const auto inverse = hn::Set(d, 1.0f / cap);
  for (int64_t key = 0; key < keys; ++key) {
    for (int v = 0; v < vectors; ++v) {
      float* const at = scores + key * ld + v * kLanes;
      const auto score = hn::Load(d, at);
      const auto x = hn::Mul(score, inverse);
      const auto square = hn::Mul(x, x);
      auto p = hn::Set(d, 62.0f / 2835.0f);
      p = hn::MulAdd(p, square, hn::Set(d, -17.0f / 315.0f));
      p = hn::MulAdd(p, square, hn::Set(d, 2.0f / 15.0f));
      p = hn::MulAdd(p, square, hn::Set(d, -1.0f / 3.0f));
      p = hn::MulAdd(p, square, one);
      const auto small = Exp2(hn::Mul(hn::Abs(x), hn::Set(d, -2.0f * 1.44269504f)));
      const auto bent = hn::CopySign(hn::Div(hn::Sub(one, small), hn::Add(one, small)), x);
      const auto is_small = hn::Lt(hn::Abs(x), hn::Set(d, 0.3f));
      const auto result = hn::Mul(limit, hn::IfThenElse(is_small, hn::Mul(x, p), bent));
      hn::Store(hn::IfThenElse(hn::IsNaN(score), score, result), d, at);
    }
  }
}

// -inf where the key's position is so far before the lane's query position that the window leaves it out.
HWY_INLINE void MaskWindow(float* HWY_RESTRICT scores, int64_t first_key, int64_t keys, int64_t ld,
                           int vectors, const int32_t* HWY_RESTRICT positions, int64_t window) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const auto lowest = hn::Set(d, kNegativeInfinity);
  for (int64_t key = 0; key < keys; ++key) {
    const auto reach =
        hn::Set(di, static_cast<int32_t>(std::min<int64_t>(first_key + key + window, INT32_MAX)));
    for (int v = 0; v < vectors; ++v) {
      float* const at = scores + key * ld + v * kLanes;
      const auto seen = hn::Gt(reach, hn::Load(di, positions + v * kLanes));
      hn::Store(hn::IfThenElse(hn::RebindMask(d, seen), hn::Load(d, at), lowest), d, at);
    }
  }
}

// -inf where the key's position is beyond the lane's query position.
HWY_INLINE void MaskCausal(float* HWY_RESTRICT scores, int64_t first_key, int64_t keys, int64_t ld,
                           int vectors, const int32_t* HWY_RESTRICT positions) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const auto lowest = hn::Set(d, kNegativeInfinity);
  for (int64_t key = 0; key < keys; ++key) {
    const auto position = hn::Set(di, static_cast<int32_t>(first_key + key));
    for (int v = 0; v < vectors; ++v) {
      float* const at = scores + key * ld + v * kLanes;
      const auto hidden = hn::Gt(position, hn::Load(di, positions + v * kLanes));
      hn::Store(hn::IfThenElse(hn::RebindMask(d, hidden), lowest, hn::Load(d, at)), d, at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hunch::attention::tiles
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
