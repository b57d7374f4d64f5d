// Memory-efficient attention in f32 on Tensor Cores: every product as three of tf32 (3xTF32), which keeps
// about 21 bits of each factor where one keeps 10.
//
// In:  AttentionParams with f32 elements. Out: softmax(scale q k^T + mask) v in f32, and the log-sum-exp
// where asked for. Holds: as the 16-bit kernel beside it, whose loop this has.
//
// x = high + low: high is x rounded to the upper 19 bits, which is what the unit reads, and low = x - high is
// exact. a b = low high + high low + high high; low low is below what f32 keeps. Rounding matters: cut off
// instead, every factor loses towards zero, and scores of a few units move by 1e-5.
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

// Scores of a tile: K's rows by ldmatrix, which hands each lane the 32-bit word that its fragment needs.
template <int kDim, int kM, int kTiles>
__device__ __forceinline__ void multiply_keys_f32(float (&s)[kM][kTiles][4], uint32_t lane_q,
                                                  uint32_t lane_k) {
  constexpr int kStride = kRowBytes<float, kDim>;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][t][e] = 0.0f;
#pragma unroll 4
  for (int step = 0; step < kDim / 8; ++step) {
    uint32_t a[kM][4], a_low[kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      load_matrices(a[m], lane_q + m * 16 * kStride + step * 32);
#pragma unroll
      for (int e = 0; e < 4; ++e) split(a[m][e], a[m][e], a_low[m][e]);
    }
#pragma unroll
    for (int t = 0; t < kTiles; t += 2) {  // sixteen keys
      uint32_t b[4], b_low[4];
      load_matrices(b, lane_k + t * 8 * kStride + step * 32);
#pragma unroll
      for (int e = 0; e < 4; ++e) split(b[e], b[e], b_low[e]);
        // The three products of one accumulator stand apart, so that none waits for the one before.
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int u = 0; u < 2; ++u) multiply_add_tf32(s[m][t + u], a_low[m], b[2 * u], b[2 * u + 1]);
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int u = 0; u < 2; ++u) multiply_add_tf32(s[m][t + u], a[m], b_low[2 * u], b_low[2 * u + 1]);
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int u = 0; u < 2; ++u) multiply_add_tf32(s[m][t + u], a[m], b[2 * u], b[2 * u + 1]);
    }
  }
}

// out += weights V for the eight keys of accumulator t; `rows_v` is this lane's pair of rows and its columns.
template <int kDim, int kM>
__device__ __forceinline__ void multiply_values_f32(float (&out)[kM][kDim / 8][4],
                                                    const float (&weights)[kM][4], const char* rows_v) {
  uint32_t a[kM][4], a_low[kM][4];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    a[m][0] = __float_as_uint(weights[m][0]);
    a[m][1] = __float_as_uint(weights[m][2]);
    a[m][2] = __float_as_uint(weights[m][1]);
    a[m][3] = __float_as_uint(weights[m][3]);
#pragma unroll
    for (int e = 0; e < 4; ++e) split(a[m][e], a[m][e], a_low[m][e]);
  }
#pragma unroll
  for (int d = 0; d < kDim / 32; ++d) {
    const uint4 first = *reinterpret_cast<const uint4*>(rows_v + d * 128);
    const uint4 second = *reinterpret_cast<const uint4*>(rows_v + d * 128 + kRowBytes<float, kDim>);
    uint32_t b[2][4] = {{first.x, first.y, first.z, first.w}, {second.x, second.y, second.z, second.w}};
    uint32_t b_low[2][4];
#pragma unroll
    for (int k = 0; k < 2; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) split(b[k][i], b[k][i], b_low[k][i]);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) multiply_add_tf32(out[m][4 * d + i], a_low[m], b[0][i], b[1][i]);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) multiply_add_tf32(out[m][4 * d + i], a[m], b_low[0][i], b_low[1][i]);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) multiply_add_tf32(out[m][4 * d + i], a[m], b[0][i], b[1][i]);
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
  const float scale_log2 = kGeneral ? kLog2E : p.scale * kLog2E;

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
      state.take_maximum(scores, out, scale_log2);
#pragma unroll
      for (int t = 0; t < kKeys / 8; ++t) {
        float weights[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const float less = -RowState<kM>::shift(state.maximum[m][e / 2], scale_log2);
            weights[m][e] = exp2_fast(fmaf(scores[m][t][e], scale_log2, less));
            state.sum[m][e / 2] += weights[m][e];
          }
        multiply_values_f32<kDim>(out, weights, lane_v + t * 8 * kStride);
      }
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
      if (lse != nullptr && lane % 4 == 0) lse[row] = state.log_sum_exp(m, h, scale_log2);
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
