// The online softmax over accumulator fragments, and what is done to scores before it: scale, mask, edges.
//
// A warp holds kM tiles of 16 rows; element [m][t][e] of its scores belongs to row m * 16 + lane / 4 +
// (e / 2) * 8 and to key t * 8 + (lane % 4) * 2 + e % 2 of the tile, as mma leaves them; in each lane the
// pair (m, h) names a row. Holds: pairs that do not exist are -inf; a row that has seen none has maximum -inf
// and sum 0; the maximum is one of the scores as they stand, and no weight counted from it is above 256: it
// is followed only when a score outgrows that, so that most tiles need no rescaling, and 16 bits lose
// nothing. Exponent says how a score becomes a power of two.
#pragma once

#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/ptx_sm80.cuh"

namespace hunch::attention::sm80 {

constexpr float kLog2E = 1.4426950408889634f;

// cap * tanh(score / cap). Small ones by the series, as the quotient of exponentials has the error of numbers
// of the size of 1.
__device__ __forceinline__ float capped(float score, float cap) {
  const float x = __fdividef(score, cap);
  const float square = x * x;
  float p = fmaf(62.0f / 2835.0f, square, -17.0f / 315.0f);
  p = fmaf(p, square, 2.0f / 15.0f);
  p = fmaf(p, square, -1.0f / 3.0f);
  p = fmaf(p, square, 1.0f);
  const float small = exp2_fast(fabsf(x) * (-2.0f * kLog2E));  // exp(-2 |x|)
  const float bent = copysignf(__fdividef(1.0f - small, 1.0f + small), x);
  return cap * (fabsf(x) < 0.3f ? x * p : bent);
}

// s = s * scale + mask, the mask read as `Element`. row_offset(m, h) is where a row of the mask starts; keys
// behind the last take the last one's value, and edges() hides them later.
template <class Read, int kM, int kTiles, class RowOffset>
__device__ __forceinline__ void scale_and_add(float (&s)[kM][kTiles][4], const AttentionParams& p,
                                              float scale, int column, const RowOffset& row_offset,
                                              const Read& read) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int64_t row = row_offset(m, h);
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int key = min(column + t * 8 + e, p.kv_length - 1);
          s[m][t][2 * h + e] = fmaf(s[m][t][2 * h + e], scale, read(row + key * p.mask_column));
        }
    }
}

// Scale, cap and mask of a whole tile whose first key of this lane is `column`. The mask's type is asked
// once.
template <int kM, int kTiles, class RowOffset>
__device__ __forceinline__ void scale_and_mask(float (&s)[kM][kTiles][4], const AttentionParams& p,
                                               int column, const RowOffset& row_offset) {
  float scale = p.scale;  // still to come
  if (p.mask_type == MaskType::none || p.softcap > 0.0f) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          s[m][t][e] *= p.scale;
          if (p.softcap > 0.0f) s[m][t][e] = capped(s[m][t][e], p.softcap);
        }
    scale = 1.0f;
  }
  switch (p.mask_type) {
    case MaskType::none:
      return;
    case MaskType::boolean:
      return scale_and_add(s, p, scale, column, row_offset, [&p](int64_t at) {
        return static_cast<const uint8_t*>(p.mask)[at] != 0 ? 0.0f : -INFINITY;
      });
    case MaskType::f32:
      return scale_and_add(s, p, scale, column, row_offset,
                           [&p](int64_t at) { return static_cast<const float*>(p.mask)[at]; });
    case MaskType::f16:
      return scale_and_add(s, p, scale, column, row_offset,
                           [&p](int64_t at) { return __half2float(static_cast<const __half*>(p.mask)[at]); });
    case MaskType::bf16:
      return scale_and_add(s, p, scale, column, row_offset, [&p](int64_t at) {
        return __bfloat162float(static_cast<const __nv_bfloat16*>(p.mask)[at]);
      });
  }
}

// Hides keys that a row's window leaves out.
template <int kM, int kTiles, class Position>
__device__ __forceinline__ void hide_before_window(float (&s)[kM][kTiles][4], const AttentionParams& p,
                                                   int column, const Position& position) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int begin = position(m, h) + 1 - p.window;
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (column + t * 8 + e < begin) s[m][t][2 * h + e] = -INFINITY;
    }
}

// Hides keys from kv_length on and, where causal, keys behind the row's own position.
template <int kM, int kTiles, class Position>
__device__ __forceinline__ void hide_edges(float (&s)[kM][kTiles][4], const AttentionParams& p, int column,
                                           const Position& position) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int end = p.causal ? min(p.kv_length, position(m, h) + 1) : p.kv_length;
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (column + t * 8 + e >= end) s[m][t][2 * h + e] = -INFINITY;
    }
}

// exp(scale (score - maximum)) as a power of two. kScaled: scores already are scaled, and perhaps hidden by a
// mask's lowest finite value, of which a multiple would overflow: so the difference comes first. Else the
// scale is still to come, and one fused multiply-add does it all.
template <bool kScaled>
struct Exponent {
  float scale_log2;
  __device__ __forceinline__ explicit Exponent(float scale) : scale_log2(kScaled ? kLog2E : scale * kLog2E) {}

  // What is taken off: of a row without any pair yet, nothing, so that -inf stays -inf.
  __device__ __forceinline__ float offset(float maximum) const {
    const float finite = maximum == -INFINITY ? 0.0f : maximum;
    return kScaled ? finite : finite * scale_log2;
  }
  __device__ __forceinline__ float power(float score, float offset) const {
    if constexpr (kScaled) return exp2_fast((score - offset) * scale_log2);
    return exp2_fast(fmaf(score, scale_log2, -offset));
  }
  // True where a score is so far above that weights counted from `maximum` would be too large.
  __device__ __forceinline__ bool outgrows(float score, float maximum) const {
    constexpr float kMostLog2 = 8.0f;
    return (score - maximum) * scale_log2 > kMostLog2;
  }
  // A score in units of the natural exponent.
  __device__ __forceinline__ float natural(float score) const {
    return kScaled ? score : score * (scale_log2 / kLog2E);
  }
};

template <int kM>
struct RowState {
  float maximum[kM][2];
  float sum[kM][2];

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      maximum[m][0] = maximum[m][1] = -INFINITY;
      sum[m][0] = sum[m][1] = 0.0f;
    }
  }

  // Follows the maximum; rescales what has been summed only where a maximum of the warp moved.
  template <int kTiles, int kOut, class Exponent>
  __device__ __forceinline__ void take_maximum(const float (&s)[kM][kTiles][4], float (&out)[kM][kOut][4],
                                               const Exponent& exponent) {
    bool moved = false;
    float factor[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float next = maximum[m][h];
#pragma unroll
        for (int t = 0; t < kTiles; ++t) next = fmaxf(next, fmaxf(s[m][t][2 * h], s[m][t][2 * h + 1]));
        next = fmaxf(next, __shfl_xor_sync(0xffffffffu, next, 1));
        next = fmaxf(next, __shfl_xor_sync(0xffffffffu, next, 2));
        if (!exponent.outgrows(next, maximum[m][h])) next = maximum[m][h];
        moved |= next != maximum[m][h];
        factor[m][h] = exponent.power(maximum[m][h], exponent.offset(next));
        maximum[m][h] = next;
      }
    if (!__any_sync(0xffffffffu, moved)) return;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sum[m][h] *= factor[m][h];
#pragma unroll
        for (int d = 0; d < kOut; ++d) {
          out[m][d][2 * h] *= factor[m][h];
          out[m][d][2 * h + 1] *= factor[m][h];
        }
      }
  }

  // Adds up the sums of a row's four lanes.
  __device__ __forceinline__ float total(int m, int h) {
    sum[m][h] += __shfl_xor_sync(0xffffffffu, sum[m][h], 1);
    sum[m][h] += __shfl_xor_sync(0xffffffffu, sum[m][h], 2);
    return sum[m][h];
  }
  // The same; says by what to multiply: 0 for a row without pairs.
  __device__ __forceinline__ float finish(int m, int h) {
    total(m, h);
    return sum[m][h] > 0.0f ? 1.0f / sum[m][h] : (sum[m][h] == 0.0f ? 0.0f : NAN);
  }
  // After finish().
  template <class Exponent>
  __device__ __forceinline__ float log_sum_exp(int m, int h, const Exponent& exponent) const {
    return sum[m][h] == 0.0f ? -INFINITY : exponent.natural(maximum[m][h]) + logf(sum[m][h]);
  }
};

// Weights of sixteen keys from c * 16 on, as the A operand of the product with V; their sum is added up in
// f32.
template <class T, int kM, int kTiles, class Exponent>
__device__ __forceinline__ void weigh(RowState<kM>& rows, const float (&s)[kM][kTiles][4], int c,
                                      const Exponent& exponent, uint32_t (&weights)[kM][4]) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float offset = exponent.offset(rows.maximum[m][h]);
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        const float x = exponent.power(s[m][2 * c + t][2 * h], offset);
        const float y = exponent.power(s[m][2 * c + t][2 * h + 1], offset);
        rows.sum[m][h] += x + y;
        weights[m][2 * t + h] = pack<T>(x, y);
      }
    }
}

}  // namespace hunch::attention::sm80
