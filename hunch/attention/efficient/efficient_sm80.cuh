// Memory-efficient attention with mma.sync, for 16-bit elements: one block a tile of query rows that walks
// over its keys, with one tile of memory for K and one for V.
//
// In:  AttentionParams with f16 or bf16 elements. Out: softmax(scale q k^T + mask) v in the same type, and
// the log-sum-exp where asked for. Holds: f32 accumulation; scores never leave registers; a fully masked row
// is 0 with LSE -inf; nothing past the ends of q, k, v is read; the same bits from run to run. Needs sm_80.
//
// Simpler than flash: small tiles of one shape a head_dim, no second stage, no split over keys, the scores of
// every tile scaled, masked and compared by the same code. V of a tile travels while its scores are made, K
// of the next one while the weights are.
//
// The ladder, bf16 forward TFLOP/s on one H200 (4 x 16 x 4096 x 64, 4 x 16 x 4096 x 128, 2 x 8 x 8192 x 256,
// all full; PyTorch 2.11's efficient 129, 170, 146), rows x keys: 64 x 64: 267, 281, 305; 128 x 64: 302, 326,
// 313; 128 x 48, 80 or 96: no more, or not steadily.
#pragma once

#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/loader_sm80.cuh"
#include "hunch/attention/tiles/online_softmax_sm80.cuh"
#include "hunch/attention/tiles/products_sm80.cuh"

namespace hunch::attention::sm80 {

template <class T_, int kDim_, int kRows_, int kKeys_, int kWarps_, int kBlocksPerSm_>
struct EfficientShape {
  using T = T_;
  static constexpr int kDim = kDim_;    // head_dim rounded up
  static constexpr int kRows = kRows_;  // query rows a block
  static constexpr int kKeys = kKeys_;  // keys a tile
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = kWarps_ * 32;
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr int kM = kRows / kWarps / 16;  // 16-row tiles a warp
  static constexpr int kQueryBytes = kRows * kRowBytes<T, kDim>;
  static constexpr int kTileBytes = kKeys * kRowBytes<T, kDim>;
  static constexpr int kSharedBytes = kQueryBytes + 2 * kTileBytes;
  static_assert(kRows == kWarps * kM * 16 && kDim % 32 == 0 && kKeys % 16 == 0);
};

// The tile of a block, and the keys it attends to.
template <class Shape>
struct EfficientPlace {
  int batch, head, kv_head, first_row;
  int tiles;       // key tiles
  int first_edge;  // from this tile on pairs may not exist

  __device__ __forceinline__ explicit EfficientPlace(const AttentionParams& p) {
    const int row_tiles = (p.length + Shape::kRows - 1) / Shape::kRows;
    const int64_t heads = static_cast<int64_t>(p.batch) * p.heads;
    const int64_t block = blockIdx.x;
    // Causal: the longest tile of every head first.
    const int64_t bh = p.causal ? block % heads : block / row_tiles;
    const int tile =
        p.causal ? row_tiles - 1 - static_cast<int>(block / heads) : static_cast<int>(block % row_tiles);
    batch = static_cast<int>(bh / p.heads);
    head = static_cast<int>(bh % p.heads);
    kv_head = head / (p.heads / p.kv_heads);
    first_row = tile * Shape::kRows;
    const int last_key = p.causal ? min(p.kv_length, first_row + Shape::kRows) : p.kv_length;
    tiles = (last_key + Shape::kKeys - 1) / Shape::kKeys;
    first_edge = min(p.kv_length, p.causal ? first_row + 1 : p.kv_length) / Shape::kKeys;
  }

  template <class T>
  __device__ __forceinline__ const T* query(const AttentionParams& p) const {
    return static_cast<const T*>(p.q) + batch * p.q_batch + head * p.q_head;
  }
  template <class T>
  __device__ __forceinline__ const T* key(const AttentionParams& p) const {
    return static_cast<const T*>(p.k) + batch * p.k_batch + kv_head * p.k_head;
  }
  template <class T>
  __device__ __forceinline__ const T* value(const AttentionParams& p) const {
    return static_cast<const T*>(p.v) + batch * p.v_batch + kv_head * p.v_head;
  }
  template <class T>
  __device__ __forceinline__ T* out(const AttentionParams& p) const {
    return static_cast<T*>(p.out) + batch * p.o_batch + head * p.o_head;
  }
  __device__ __forceinline__ float* lse(const AttentionParams& p) const {
    return p.lse == nullptr ? nullptr : p.lse + (static_cast<int64_t>(batch) * p.heads + head) * p.length;
  }

  // Scales, masks and hides in place; tile j, rows of this warp from warp_row on.
  template <bool kGeneral, int kM, int kTiles>
  __device__ __forceinline__ void edit(float (&s)[kM][kTiles][4], const AttentionParams& p, int j,
                                       int warp_row, int lane) const {
    const int column = j * Shape::kKeys + (lane % 4) * 2;
    const auto row_of = [&](int m, int h) {
      return min(first_row + warp_row + m * 16 + lane / 4 + h * 8, p.length - 1);
    };
    if constexpr (kGeneral) {
      scale_and_mask(s, p, column, [&](int m, int h) {
        return batch * p.mask_batch + head * p.mask_head + row_of(m, h) * p.mask_row;
      });
    }
    if (j >= first_edge) hide_edges(s, p, column, row_of);
  }
};

// kGeneral: any scale and mask; else scale > 0 and no mask tensor, and the scale is folded into the exponent.
template <class Shape, bool kGeneral>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerSm)
    efficient_forward_kernel(const __grid_constant__ AttentionParams p) {
  using T = typename Shape::T;
  constexpr int kM = Shape::kM, kDim = Shape::kDim, kKeys = Shape::kKeys, kThreads = Shape::kThreads;

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

  const uint32_t lane_q = shared_q + lane_rows_a<kDim>(warp_row, lane);
  const uint32_t lane_k = shared_k + lane_rows_b<kDim>(lane);
  const uint32_t lane_v = shared_v + lane_rows_a<kDim>(0, lane);
  const auto query = [&](int m, int step, uint32_t(&fragment)[4]) {
    load_matrices(fragment, (lane_q ^ (step * 32)) + m * 16 * kDim * 2);
  };

  if (place.tiles > 0) {
    TileLoader<T, kDim, Shape::kRows, kThreads>(place.template query<T>(p), p.q_row, p.length, p.head_dim,
                                                p.aligned)
        .load(shared_q, shared, place.first_row);
    const TileLoader<T, kDim, kKeys, kThreads> loader_k(place.template key<T>(p), p.k_row, p.kv_length,
                                                        p.head_dim, p.aligned);
    const TileLoader<T, kDim, kKeys, kThreads> loader_v(place.template value<T>(p), p.v_row, p.kv_length,
                                                        p.value_dim, p.aligned);
    loader_k.load(shared_k, generic_k, 0);
    copy_async_commit();
    for (int j = 0; j < place.tiles; ++j) {
      copy_async_wait<0>();
      __syncthreads();  // K has arrived, V is free
      loader_v.load(shared_v, generic_v, j * kKeys);
      copy_async_commit();
      float scores[kM][kKeys / 8][4];
      multiply_keys<T, kDim>(scores, lane_k, query);
      copy_async_wait<0>();
      __syncthreads();  // V has arrived, K is free
      if (j + 1 < place.tiles) loader_k.load(shared_k, generic_k, (j + 1) * kKeys);
      copy_async_commit();
      place.template edit<kGeneral>(scores, p, j, warp_row, lane);
      state.take_maximum(scores, out, exponent);
#pragma unroll
      for (int c = 0; c < kKeys / 16; ++c) {
        uint32_t weights[kM][4];
        weigh<T>(state, scores, c, exponent, weights);
        multiply_values<T, kDim>(out, weights, lane_v, c);
      }
    }
  }

  // Normalise and write, through the memory of Q so that rows leave in 16-byte pieces.
  __syncthreads();
  float* const lse = place.lse(p);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float inverse = state.finish(m, h);
      const int local = warp_row + m * 16 + lane / 4 + h * 8;
      const int row = place.first_row + local;
      if (lse != nullptr && lane % 4 == 0 && row < p.length) lse[row] = state.log_sum_exp(m, h, exponent);
#pragma unroll
      for (int d = 0; d < kDim / 8; ++d)
        *reinterpret_cast<uint32_t*>(shared + swizzled<kDim>(local, d) + (lane % 4) * 4) =
            pack<T>(out[m][d][2 * h] * inverse, out[m][d][2 * h + 1] * inverse);
    }
  __syncwarp();
  store_rows<T, kDim, kM>(shared, place.template out<T>(p), p.o_row, place.first_row, warp_row, p.length,
                          p.value_dim, p.aligned, lane);
}

}  // namespace hunch::attention::sm80
