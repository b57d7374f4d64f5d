// FlashAttention forward with mma.sync: one block a tile of query rows, K and V streamed through shared
// memory.
//
// In:  AttentionParams: q, k, v in f16 or bf16, any strides with a unit last one, an optional mask. Out:
// softmax(scale q k^T + mask) v in the same type, and the log-sum-exp where asked for. Holds: f32
// accumulation; scores never leave registers; a fully masked row is 0 with LSE -inf; nothing past the ends of
// q, k, v is read; the same bits from run to run. Needs sm_80.
//
// The ladder, bf16 forward TFLOP/s on one H200, beside PyTorch 2.11's FlashAttention-2 in the same run
// (4 x 16 x 4096 x 64 full, 4 x 16 x 4096 x 128 full, 2 x 8 x 8192 x 256 full):
//                                                                        ours            PyTorch
//   1 two stages of K and V, one barrier a tile, swizzled shared memory  295  295  280   300 354 314
//   1s the same with the next tile's scores between this tile's steps:   253  256  222   (registers spill)
//   2 mma not volatile, operands of the next step loaded ahead           297  300  260   300 356 320
//   2b 256 rows a block, 8 warps of 32 rows                              292  331    -
//   3 a loader that keeps one address a thread instead of one a copy     318  338  303   300 356 322
//   4 the shift of a row recomputed instead of kept; 48 and 80 keys      319  349  323   300 356 318
//   5 96 keys to head_dim 64; one stage and 96 keys to 256                329  344  334   300 356 319
//   6 a maximum followed only when outgrown 256 times                     332  363  327   302 352 326
//   7 one stage, and 64 keys to head_dim 128, 80 to 256                   332  369  331   302 352 326
// Rows x keys, warps, stages that were tried beside it (the same three): 64 x 64, 4, 2: 292; 128 x 64, 4, 2:
// 318; 128 x 80, 4, 2: 325; 128 x 112, 4, 2: 284; 128 x 96, 4, 1: 300; | 128 x 64, 4, 1: 341; 128 x 48, 4, 1:
// 329; 128 x 32, 4, 2: 330; 64 x 32, 2, 2: 306; 64 x 64, 2, 1: 308; 64 x 64, 4, 1: 297; | 128 x 80, 8, 2:
// 321; 64 x 64, 4, 1: 304; 128 x 64, 8, 1: 315; 128 x 112, 8, 1: 329. Causal gains 8 to 12 % from putting the
// longest tile of every head first.
#pragma once

#include "hunch/attention/flash/packed_sm80.cuh"
#include "hunch/attention/flash/parts_sm80.cuh"
#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/loader_sm80.cuh"
#include "hunch/attention/tiles/online_softmax_sm80.cuh"
#include "hunch/attention/tiles/products_sm80.cuh"

namespace hunch::attention::sm80 {

// kStages 2: K and V each have two tiles of memory, and one barrier a tile is enough. 1: one each, K is
// replaced behind the first product and V behind the second, two barriers a tile, half the memory.
template <class T_, int kDim_, int kRows_, int kKeys_, int kWarps_, int kBlocksPerSm_,
          bool kQueryInRegisters_, int kStages_ = 2>
struct FlashShape {
  using T = T_;
  static constexpr int kDim = kDim_;    // head_dim rounded up
  static constexpr int kRows = kRows_;  // query rows a block
  static constexpr int kKeys = kKeys_;  // keys a tile
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = kWarps_ * 32;
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr bool kQueryInRegisters = kQueryInRegisters_;
  static constexpr int kStages = kStages_;
  static constexpr int kM = kRows / kWarps / 16;  // 16-row tiles a warp
  static constexpr int kChunks = kKeys / 16;
  static constexpr int kSteps = kDim / 16;
  static constexpr int kQueryBytes = kRows * kDim * 2;
  static constexpr int kTileBytes = kKeys * kDim * 2;
  static constexpr int kSharedBytes = kQueryBytes + 2 * kStages * kTileBytes;
  static_assert(kRows == kWarps * kM * 16 && kDim % 64 == 0 && kKeys % 16 == 0);
};

// kGeneral: scores are scaled (by any scale) and masked before the maximum is taken; else scale > 0 and no
// mask tensor, and the scale is folded into the exponent. kDecode: rows are packed and keys may be split.
template <class Shape, bool kGeneral, bool kDecode>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerSm)
    flash_forward_kernel(const __grid_constant__ AttentionParams p) {
  using T = typename Shape::T;
  constexpr int kM = Shape::kM, kChunks = Shape::kChunks, kSteps = Shape::kSteps, kDim = Shape::kDim;
  constexpr int kKeys = Shape::kKeys, kRows = Shape::kRows, kThreads = Shape::kThreads;
  constexpr int kTiles = kKeys / 8;  // 8-key accumulator tiles
  constexpr int kStages = Shape::kStages;

  extern __shared__ __align__(1024) char shared[];
  const uint32_t shared_q = shared_address(shared);
  const uint32_t shared_k = shared_q + Shape::kQueryBytes;
  const uint32_t shared_v = shared_k + kStages * Shape::kTileBytes;
  char* const generic_k = shared + Shape::kQueryBytes;
  char* const generic_v = generic_k + kStages * Shape::kTileBytes;

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  // Which tile of which head. Causal: the longest tile of every head first.
  const int group = kDecode ? p.heads / p.kv_heads : 1;
  const int heads = kDecode ? p.kv_heads : p.heads;
  FlashRows<kDecode> rows;
  rows.length = p.length;
  rows.end = p.length * group;
  const int tiles = (rows.end + kRows - 1) / kRows;
  int64_t block = blockIdx.x;
  int split = 0;
  if constexpr (kDecode) {
    split = static_cast<int>(block % p.splits);
    block /= p.splits;
  }
  const int64_t all_heads = static_cast<int64_t>(p.batch) * heads;
  const int64_t bh = p.causal ? block % all_heads : block / tiles;
  const int tile =
      p.causal ? tiles - 1 - static_cast<int>(block / all_heads) : static_cast<int>(block % tiles);
  rows.batch = static_cast<int>(bh / heads);
  rows.head = static_cast<int>(bh % heads) * group;
  rows.kv_head = kDecode ? rows.head / group : rows.head / (p.heads / p.kv_heads);
  rows.first = tile * kRows;

  const T* const q = static_cast<const T*>(p.q) + rows.batch * p.q_batch + rows.head * p.q_head;
  const T* const k = static_cast<const T*>(p.k) + rows.batch * p.k_batch + rows.kv_head * p.k_head;
  const T* const v = static_cast<const T*>(p.v) + rows.batch * p.v_batch + rows.kv_head * p.v_head;

  // Key tiles [tile_begin, tile_end); from `first_edge` on they need a comparison per pair.
  const int last_key = p.causal ? min(p.kv_length, rows.greatest(kRows) + 1) : p.kv_length;
  int tile_begin = 0;
  int tile_end = (last_key + kKeys - 1) / kKeys;
  if constexpr (kDecode) {
    const int share = (tile_end + p.splits - 1) / p.splits;
    tile_begin = min(split * share, tile_end);
    tile_end = min(tile_begin + share, tile_end);
  }
  // A window leaves key tiles out at the front too, and those that it cuts need the comparison as well.
  const bool windowed = kGeneral && p.window > 0;
  if (windowed) tile_begin = max(tile_begin, (rows.least(kRows) + 1 - p.window) / kKeys);
  const int window_end = windowed ? rows.greatest(kRows) + 1 - p.window : 0;
  const int first_edge = min(p.kv_length / kKeys, p.causal ? (rows.least(kRows) + 1) / kKeys : p.kv_length);

  const TileLoader<T, kDim, kKeys, kThreads> loader_k(k, p.k_row, p.kv_length, p.head_dim, p.aligned);
  const TileLoader<T, kDim, kKeys, kThreads> loader_v(v, p.v_row, p.kv_length, p.value_dim, p.aligned);
  const auto stage = [&](int j) { return kStages == 2 ? (j & 1) * Shape::kTileBytes : 0; };
  const auto load_k = [&](int j) { loader_k.load(shared_k + stage(j), generic_k + stage(j), j * kKeys); };
  const auto load_v = [&](int j) { loader_v.load(shared_v + stage(j), generic_v + stage(j), j * kKeys); };

  float out[kM][kDim / 8][4];
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[m][d][e] = 0.0f;
  RowState<kM> state;
  state.start();

  const int warp_row = warp * kM * 16;
  const uint32_t lane_q = shared_q + lane_rows_a<kDim>(warp_row, lane);
  const uint32_t lane_k = shared_k + lane_rows_b<kDim>(lane);
  const uint32_t lane_v = shared_v + lane_rows_a<kDim>(0, lane);

  uint32_t q_registers[Shape::kQueryInRegisters ? kM : 1][Shape::kQueryInRegisters ? kSteps : 1][4];
  const auto query = [&](int m, int step, uint32_t(&fragment)[4]) {
    if constexpr (Shape::kQueryInRegisters) {
#pragma unroll
      for (int e = 0; e < 4; ++e) fragment[e] = q_registers[m][step][e];
    } else {
      load_matrices(fragment, (lane_q ^ (step * 32)) + m * 16 * kDim * 2);
    }
  };

  // The row of (m, h); one that exists, where the tile hangs over.
  const auto row_of = [&](int m, int h) {
    return min(rows.first + warp_row + m * 16 + lane / 4 + h * 8, rows.end - 1);
  };
  const Exponent<kGeneral> exponent(p.scale);
  const auto edit = [&](float(&s)[kM][kTiles][4], int j) {
    const int column = j * kKeys + (lane % 4) * 2;
    if constexpr (kGeneral) {
      scale_and_mask(s, p, column, [&](int m, int h) {
        const int row = row_of(m, h);
        return rows.batch * p.mask_batch + rows.head_of(row) * p.mask_head + rows.position(row) * p.mask_row;
      });
    }
    if (windowed && j * kKeys < window_end)
      hide_before_window(s, p, column, [&](int m, int h) { return rows.position(row_of(m, h)); });
    if (j >= first_edge) hide_edges(s, p, column, [&](int m, int h) { return rows.position(row_of(m, h)); });
  };
  // A warp whose rows all lie behind the last has nothing to compute, but still loads its share.
  const bool active = !kDecode || rows.first + warp_row < rows.end;

  // One turn: scores, weights, product of one tile.
  const auto turn = [&](int j) {
    copy_async_wait<0>();
    __syncthreads();
    if constexpr (kStages == 2) {
      if (j + 1 < tile_end) {
        load_k(j + 1);
        load_v(j + 1);
      }
      copy_async_commit();
    } else {
      load_v(j);
      copy_async_commit();
    }
    float scores[kM][kTiles][4];
    if (active) multiply_keys<T, kDim>(scores, lane_k + stage(j), query);
    if constexpr (kStages == 1) {
      copy_async_wait<0>();
      __syncthreads();
      if (j + 1 < tile_end) load_k(j + 1);
      copy_async_commit();
    }
    if (!active) return;
    edit(scores, j);
    state.take_maximum(scores, out, exponent);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      uint32_t weights[kM][4];
      weigh<T>(state, scores, c, exponent, weights);
      multiply_values<T, kDim>(out, weights, lane_v + stage(j), c);
    }
  };

  if (tile_begin < tile_end) {
    if constexpr (kDecode) {
      load_packed_rows<T, kDim, kRows, kThreads>(shared_q, shared, q, p, rows);
    } else {
      TileLoader<T, kDim, kRows, kThreads>(q, p.q_row, p.length, p.head_dim, p.aligned)
          .load(shared_q, shared, rows.first);
    }
    load_k(tile_begin);
    copy_async_commit();
    if constexpr (kStages == 2) load_v(tile_begin);
    copy_async_commit();
    copy_async_wait<1>();
    __syncthreads();
    if constexpr (Shape::kQueryInRegisters) {
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
          load_matrices(q_registers[m][step], (lane_q ^ (step * 32)) + m * 16 * kDim * 2);
    }
    for (int j = tile_begin; j < tile_end; ++j) turn(j);
  }

  // Normalise and write: whole tiles through the memory of Q, so that rows leave in 16-byte pieces.
  __syncthreads();
  [[maybe_unused]] const PartsInCluster<kDim, kRows> parts(shared);
  static_assert(!kDecode || decltype(parts)::kBytes <= Shape::kSharedBytes);
  static_assert(!kDecode || kRows * flash::kMostParts * 4 + 16 <= Shape::kSharedBytes);
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float inverse = state.finish(m, h);
      const float lse = state.log_sum_exp(m, h, exponent);
      const int local = warp_row + m * 16 + lane / 4 + h * 8;
      const int row = rows.first + local;
      if constexpr (kDecode) {
        if (row < rows.end && parts.blocks() > 1) {
          parts.put(local, out[m], h, inverse, lse, lane);
        } else if (row < rows.end) {
          const int64_t at = (static_cast<int64_t>(rows.batch) * p.heads + rows.head_of(row)) * p.length +
                             rows.position(row);
          write_packed_row<T, kDim>(p, rows.batch, rows.head_of(row), rows.position(row), split, at, lse,
                                    out[m], h, inverse, lane);
        }
      } else {
        if (p.lse != nullptr && lane % 4 == 0 && row < p.length) p.lse[bh * p.length + row] = lse;
#pragma unroll
        for (int d = 0; d < kDim / 8; ++d)
          *reinterpret_cast<uint32_t*>(shared + swizzled<kDim>(local, d) + (lane % 4) * 4) =
              pack<T>(out[m][d][2 * h] * inverse, out[m][d][2 * h + 1] * inverse);
      }
    }
  if constexpr (!kDecode) {
    __syncwarp();
    T* const target = static_cast<T*>(p.out) + rows.batch * p.o_batch + rows.head * p.o_head;
    store_rows<T, kDim, kM>(shared, target, p.o_row, rows.first, warp_row, p.length, p.value_dim, p.aligned,
                            lane);
  } else if (p.splits > 1) {
    const int count = min(kRows, rows.end - rows.first);
    const ToOutput<T, FlashRows<true>> output{p, rows};
    if (parts.blocks() > 1) return parts.template combine<Shape::kWarps>(count, p.value_dim, output);
    if (!is_last_part(p.counters + block, p.splits, reinterpret_cast<int*>(shared))) return;
    const PartsInMemory in_memory(
        p, (static_cast<int64_t>(rows.batch) * p.heads + rows.head) * p.length + rows.first);
    combine_parts<kDim, Shape::kWarps>(count, p.value_dim, p.splits, in_memory,
                                       reinterpret_cast<float*>(shared) + 4, output);
  }
}

}  // namespace hunch::attention::sm80
