// Memory-efficient attention in f32 on Tensor Cores: every product as three of tf32 (3xTF32), which keeps
// about 21 bits of each factor where one keeps 10.
//
// In:  AttentionParams with f32 elements. Out: softmax(scale q k^T + mask) v in f32, and the log-sum-exp
// where asked for. Holds: as the 16-bit kernel beside it, whose loop this has.
//
// x = high + low: high is x rounded to the upper 19 bits, which is what the unit reads, and low = x - high is
// exact. a b = low high + high low + high high; low low is below what f32 keeps. Rounding matters: cut off
// instead, every factor loses towards zero, and scores of a few units move by 1e-5. The unit cuts its sums
// off too, a little at every step: so sums run in it for 64 columns or one tile of keys, and are added up
// outside.
//
// The ladder, f32 forward TFLOP/s on one H200 (4 x 16 x 4096 x 64, 4 x 16 x 4096 x 128, 2 x 8 x 8192 x 256,
// all full; PyTorch 2.11's efficient 34, 46, 39): sums in the unit throughout, parts cut off: 69, 70, 63;
// rounded: 74, 70, 60, and 1.05 of the bound at head_dim 256; sums added up outside: 63, 59, 49, and 0.64 of
// the bound.
//
// The weights leave the scores' accumulators as operands without any exchange: of eight keys, lane l holds
// 2 (l % 4) and 2 (l % 4) + 1, and as a sum may run in any order these two serve as k = l % 4 and k + 4, with
// V's rows picked to match. V's columns are permuted likewise, so that a lane reads four columns at once:
// accumulator i of a block of 32 columns holds columns 4 n + i, n = 2 (l % 4) and the next one, and so a lane
// ends with eight columns side by side.
#pragma once

#include "hunch/attention/efficient/efficient_sm80.cuh"

namespace hunch::attention::sm80 {

// The unit ignores the lower 13 bits of `high`, so they need not be cleared for it.
__device__ __forceinline__ void split(uint32_t bits, uint32_t& high, uint32_t& low) {
  high = bits + 0x1000u;
  low = __float_as_uint(__uint_as_float(bits) - __uint_as_float(high & 0xffffe000u));
}

// c += a b for kM tiles of 16 rows and kN of 8 columns. The three products of one accumulator stand apart, so
// that none waits for the one before.
template <int kM, int kN>
__device__ __forceinline__ void multiply_add_3(float (&c)[kM][kN][4], const uint32_t (&a)[kM][4],
                                               const uint32_t (&a_low)[kM][4], const uint32_t (&b)[kN][2],
                                               const uint32_t (&b_low)[kN][2]) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n) multiply_add_tf32(c[m][n], a_low[m], b[n][0], b[n][1]);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n) multiply_add_tf32(c[m][n], a[m], b_low[n][0], b_low[n][1]);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n) multiply_add_tf32(c[m][n], a[m], b[n][0], b[n][1]);
}

// Scores of a tile: K's rows by ldmatrix, which hands each lane the 32-bit word that its fragment needs.
template <int kDim, int kM, int kTiles>
__device__ __forceinline__ void multiply_keys_f32(float (&s)[kM][kTiles][4], uint32_t lane_q,
                                                  uint32_t lane_k) {
  constexpr int kStride = kRowBytes<float, kDim>;
  constexpr int kSteps = 8;  // of 8 columns, between two additions outside of the unit
  // Sixteen keys at a time; all at once where one part of the columns is the whole.
  constexpr int kGroup = kDim == 8 * kSteps ? kTiles : 2;
#pragma unroll
  for (int t = 0; t < kTiles; t += kGroup)
#pragma unroll
    for (int first = 0; first < kDim / 8; first += kSteps) {
      float part[kGroup / 2][kM][2][4] = {};
#pragma unroll 4
      for (int step = first; step < first + kSteps; ++step) {
        uint32_t a[kM][4], a_low[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          load_matrices(a[m], lane_q + m * 16 * kStride + step * 32);
#pragma unroll
          for (int e = 0; e < 4; ++e) split(a[m][e], a[m][e], a_low[m][e]);
        }
#pragma unroll
        for (int g = 0; g < kGroup / 2; ++g) {
          uint32_t words[4], b[2][2], b_low[2][2];
          load_matrices(words, lane_k + (t + 2 * g) * 8 * kStride + step * 32);
#pragma unroll
          for (int e = 0; e < 4; ++e) split(words[e], b[e / 2][e % 2], b_low[e / 2][e % 2]);
          multiply_add_3(part[g], a, a_low, b, b_low);
        }
      }
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int u = 0; u < kGroup; ++u)
#pragma unroll
          for (int e = 0; e < 4; ++e)
            s[m][t + u][e] =
                first == 0 ? part[u / 2][m][u % 2][e] : s[m][t + u][e] + part[u / 2][m][u % 2][e];
    }
}

// out += weights V for a whole tile; `lane_v` is this lane's pair of rows and its columns.
template <int kDim, int kM, int kTiles>
__device__ __forceinline__ void multiply_values_f32(float (&out)[kM][kDim / 8][4],
                                                    const float (&weights)[kM][kTiles][4],
                                                    const char* lane_v) {
  constexpr int kStride = kRowBytes<float, kDim>;
#pragma unroll
  for (int d = 0; d < kDim / 32; ++d) {
    float part[kM][4][4] = {};
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      uint32_t a[kM][4], a_low[kM][4], b[4][2], b_low[4][2];
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e)  // rows, then keys: 0 2 1 3
          split(__float_as_uint(weights[m][t][e / 2 + e % 2 * 2]), a[m][e], a_low[m][e]);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const uint4 words = *reinterpret_cast<const uint4*>(lane_v + (t * 8 + k) * kStride + d * 128);
        split(words.x, b[0][k], b_low[0][k]);
        split(words.y, b[1][k], b_low[1][k]);
        split(words.z, b[2][k], b_low[2][k]);
        split(words.w, b[3][k], b_low[3][k]);
      }
      multiply_add_3(part, a, a_low, b, b_low);
    }
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) out[m][4 * d + i][e] += part[m][i][e];
  }
}

template <class Shape, bool kGeneral>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerSm)
    efficient_forward_f32_kernel(const __grid_constant__ AttentionParams p) {
  constexpr int kM = Shape::kM, kDim = Shape::kDim, kKeys = Shape::kKeys, kThreads = Shape::kThreads;
  constexpr int kStride = kRowBytes<float, kDim>;

  extern __shared__ __align__(1024) char shared[];
  const uint32_t shared_q = shared_address(shared);
  const uint32_t shared_k = shared_q + Shape::kQueryBytes;
  const uint32_t shared_v = shared_k + Shape::kTileBytes;
  char* const generic_k = shared + Shape::kQueryBytes;
  char* const generic_v = generic_k + Shape::kTileBytes;

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * kM * 16;
  const EfficientPlace<Shape> place(p);
  const Exponent<kGeneral> exponent(p.scale);

  float out[kM][kDim / 8][4];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[m][d][e] = 0.0f;
  RowState<kM> state;
  state.start();

  // ldmatrix: rows of Q by lane % 16 and chunks by lane / 16; rows of K by eights, chunks by lane / 8 % 2.
  const uint32_t lane_q = shared_q + (warp_row + lane % 16) * kStride + lane / 16 * 16;
  const uint32_t lane_k = shared_k + ((lane / 16) * 8 + lane % 8) * kStride + (lane / 8) % 2 * 16;
  const char* const lane_v = generic_v + 2 * (lane % 4) * kStride + lane / 4 * 16;

  if (place.tiles > 0) {
    TileLoader<float, kDim, Shape::kRows, kThreads>(place.template query<float>(p), p.q_row, p.length,
                                                    p.head_dim, p.aligned)
        .load(shared_q, shared, place.first_row);
    const TileLoader<float, kDim, kKeys, kThreads> loader_k(place.template key<float>(p), p.k_row,
                                                            p.kv_length, p.head_dim, p.aligned);
    const TileLoader<float, kDim, kKeys, kThreads> loader_v(place.template value<float>(p), p.v_row,
                                                            p.kv_length, p.value_dim, p.aligned);
    loader_k.load(shared_k, generic_k, 0);
    copy_async_commit();
    for (int j = 0; j < place.tiles; ++j) {
      copy_async_wait<0>();
      __syncthreads();  // K has arrived, V is free
      loader_v.load(shared_v, generic_v, j * kKeys);
      copy_async_commit();
      float scores[kM][kKeys / 8][4];
      multiply_keys_f32<kDim>(scores, lane_q, lane_k);
      copy_async_wait<0>();
      __syncthreads();  // V has arrived, K is free
      if (j + 1 < place.tiles) loader_k.load(shared_k, generic_k, (j + 1) * kKeys);
      copy_async_commit();
      place.template edit<kGeneral>(scores, p, j, warp_row, lane);
      state.take_maximum(scores, out, exponent);
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float offset = exponent.offset(state.maximum[m][h]);
#pragma unroll
          for (int t = 0; t < kKeys / 8; ++t)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; ++e) {
              scores[m][t][e] = exponent.power(scores[m][t][e], offset);
              state.sum[m][h] += scores[m][t][e];
            }
        }
      multiply_values_f32<kDim>(out, scores, lane_v);
    }
  }

  float* const lse = place.lse(p);
  float* const target = place.template out<float>(p);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float inverse = state.finish(m, h);
      const int row = place.first_row + warp_row + m * 16 + lane / 4 + h * 8;
      if (row >= p.length) continue;
      if (lse != nullptr && lane % 4 == 0) lse[row] = state.log_sum_exp(m, h, exponent);
      float* const at = target + row * p.o_row;
#pragma unroll
      for (int d = 0; d < kDim / 32; ++d)
#pragma unroll
        for (int e = 0; e < 2; ++e) {  // four columns side by side, twice
          const int column = d * 32 + (lane % 4) * 8 + e * 4;
          float values[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) values[i] = out[m][4 * d + i][2 * h + e] * inverse;
          if (p.aligned && column < p.value_dim) {
            *reinterpret_cast<float4*>(at + column) = make_float4(values[0], values[1], values[2], values[3]);
          } else {
#pragma unroll
            for (int i = 0; i < 4; ++i)
              if (column + i < p.value_dim) at[column + i] = values[i];
          }
        }
    }
}

}  // namespace hunch::attention::sm80
