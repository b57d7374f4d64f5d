// Flash for few rows, as decoding has them: the time is that of reading K and V once, and of what comes
// before and after.
//
// In and out as in flash_sm80.cuh. A block has one tile of 16 packed rows and one part of its keys; each warp
// takes keys of its own, streams them through a ring of its own in shared memory, and meets the others only
// at the end. So all stages of a ring are under way at any time, nothing waits at a barrier of the block, and
// what is computed for a tile of keys is spread over all warps. Rows beyond sixteen that share their keys are
// further tiles, which find the keys in the L2 cache. Holds: f32 accumulation; nothing past the ends of q, k,
// v is read; the same bits from run to run. Needs sm_80, and the shared memory.
//
// The ladder, one query, bf16, as a ratio to cuDNN 9.19 in the same run on one H200, for batch 8 with 16
// heads x 4096 keys x 64; 32 heads in groups of 4 x 4096, 16384 and 65536 keys x 128; 16 in groups of 8 x
// 65536 x 256; 8 of one key head x 8192 x 128; and for batch 1 with 16 heads of one key head x 8192 x 128:
//   four warps that meet for every tile of keys, one of them computes   1.03 1.01 1.00 0.99 1.28 0.82 0.47
//   keys and a ring of its own a warp; all warps' rows from the cluster 1.12 1.11 1.04 1.01 1.29 1.08 0.70
//   a block's warps first, then its cluster; to sixteen blocks of one   1.10 1.11  -    -    -    -   0.74
//   each thread makes its weights; outputs eight bytes at a time        1.13 1.13 1.04 1.01 1.28 1.11 0.89
//   the end in fewer instructions (parts_sm80.cuh); clusters by room    1.15 1.13 1.05 1.02 1.30 1.24 0.96
// Of the last, over the form before, 1 to 8 tiles: no division by a query's length of one 1.00 to 1.04; rows
// 8 to 15 left out where there are none 1.00 to 1.01. The first keys before the query: 1.01 to 1.02 where
// other blocks share the multiprocessor, 0.97 where none does. Warps x keys x stages of a block that stands
// alone (the first column, the third): 4 x 16 x 6 1.02, 4 x 32 x 3 1.11, 8 x 32 x 3 1.12, 8 x 32 x 2 1.13 | 2
// x 16 x 6 0.98, 4 x 16 x 3 1.03, 4 x 32 x 3 1.04, 8 x 16 x 3 1.03, 8 x 16 x 2 1.04. More than 128 KiB under
// way a multiprocessor slow 96 blocks by a tenth.
//
// More tiles than multiprocessors, over two blocks on each (few_shape.cc chooses), 256 to 4096 keys: three,
// whose rings are smaller, 160 tiles 0.99 to 1.15, 320 tiles 1.08 to 1.32, 400 tiles 0.92 to 1.08; four, 400
// to 1024 tiles 0.99 to 1.15; six, 320 tiles 1.05 to 1.26, else 0.80 to 1.2. A wave that is not full is what
// costs, as its blocks go to whichever multiprocessors are free. So were tried and left out: the keys of the
// tiles beyond a full wave in parts, with two blocks on each 1.02 to 1.14, with three and four nothing that
// lasts; and 132 blocks of eight warps that share out all keys and keep their rings running, 160 tiles of 128
// columns 0.97 to 1.02 of cuDNN from 2048 keys on (now 1.02 to 1.05), 0.82 to 0.86 below 1024.
//
// 17 to 64 rows as tiles of 16, over tiles of 64 rows (flash_sm80.cuh): one to eight key heads 1.4 to 9; from
// 32 key heads on, two tiles 0.81 to 1.9, three and four 0.96 to 1.8 to 70 MB of keys, 0.64 to 1.12 beyond.
#pragma once

#include "hunch/attention/flash/packed_sm80.cuh"
#include "hunch/attention/flash/parts_sm80.cuh"
#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/loader_sm80.cuh"
#include "hunch/attention/tiles/online_softmax_sm80.cuh"
#include "hunch/attention/tiles/products_sm80.cuh"

namespace hunch::attention::sm80 {

template <class T_, int kDim_, int kKeys_, int kWarps_, int kStages_, int kBlocksPerSm_,
          bool kQueryInRegisters_>
struct FewRowsShape {
  using T = T_;
  static constexpr int kDim = kDim_;    // head_dim rounded up
  static constexpr int kKeys = kKeys_;  // that a warp takes at once
  static constexpr int kWarps = kWarps_;
  static constexpr int kStages = kStages_;  // of a warp's ring, each with kKeys of K and of V
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr int kRows = flash::kFewRows;
  static constexpr bool kQueryInRegisters = kQueryInRegisters_;  // to 128 columns: beyond, they would spill
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kQueryBytes = kRows * kDim * 2;
  static constexpr int kTileBytes = kKeys * kDim * 2;
  static constexpr int kSharedBytes = kQueryBytes + 2 * kWarps * kStages * kTileBytes;
  static_assert(kDim % 64 == 0 && kKeys % 16 == 0 && kRows == 16);
};

// What the warps of a block found, rows x columns that are not normalised and their masses, in the memory of
// the rings.
template <class Shape>
struct FoundByWarps {
  static constexpr int kPitch = Shape::kDim + 8;  // floats: rows start 8 banks apart
  static constexpr int kWarpFloats = Shape::kRows * (kPitch + 2);
  static constexpr int kFloats = Shape::kWarps * kWarpFloats;

  float* base;

  __device__ __forceinline__ float* out(int warp, int local) const {
    return base + warp * kWarpFloats + local * kPitch;
  }
  __device__ __forceinline__ Mass* mass(int warp, int local) const {
    return reinterpret_cast<Mass*>(base + warp * kWarpFloats + Shape::kRows * kPitch) + local;
  }
};

template <class Shape, bool kGeneral>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerSm)
    flash_few_rows_kernel(const __grid_constant__ AttentionParams p) {
  using T = typename Shape::T;
  constexpr int kDim = Shape::kDim, kKeys = Shape::kKeys, kRows = Shape::kRows, kWarps = Shape::kWarps;
  constexpr int kStages = Shape::kStages, kSteps = kDim / 16, kTiles = kKeys / 8;

  extern __shared__ __align__(1024) char shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  char* const ring = shared + Shape::kQueryBytes + warp * 2 * kStages * Shape::kTileBytes;
  const uint32_t shared_q = shared_address(shared);
  const uint32_t shared_k = shared_address(ring);

  const int group = p.heads / p.kv_heads;
  FlashRows<true> rows;
  rows.length = p.length;
  rows.end = p.length * group;
  rows.first = 0;
  const int split = static_cast<int>(blockIdx.x % static_cast<unsigned>(p.splits));
  const int tile = static_cast<int>(blockIdx.x / static_cast<unsigned>(p.splits));
  int of_group = tile;
  if (rows.end > kRows) {
    const int tiles = (rows.end + kRows - 1) / kRows;
    of_group = tile / tiles;
    rows.first = tile % tiles * kRows;
  }
  rows.batch = of_group / p.kv_heads;
  rows.kv_head = of_group % p.kv_heads;
  rows.head = rows.kv_head * group;

  const T* const q = static_cast<const T*>(p.q) + rows.batch * p.q_batch + rows.head * p.q_head;
  const T* const k = static_cast<const T*>(p.k) + rows.batch * p.k_batch + rows.kv_head * p.k_head;
  const T* const v = static_cast<const T*>(p.v) + rows.batch * p.v_batch + rows.kv_head * p.v_head;

  // The part's pieces of kKeys keys, [begin, end), and this warp's: every kWarps-th.
  const int last_key = p.causal ? min(p.kv_length, rows.greatest(kRows) + 1) : p.kv_length;
  const bool windowed = kGeneral && p.window > 0;
  const int first_piece = windowed ? max(rows.least(kRows) + 1 - p.window, 0) / kKeys : 0;
  const int pieces = max((last_key + kKeys - 1) / kKeys - first_piece, 0);
  const int share = pieces / p.splits, longer = pieces % p.splits;  // the first parts have one more
  const int begin = first_piece + split * share + min(split, longer);
  const int end = begin + share + (split < longer ? 1 : 0);
  const int first = begin + warp;
  const int window_end = windowed ? rows.greatest(kRows) + 1 - p.window : 0;
  const int first_edge = min(p.kv_length, p.causal ? rows.least(kRows) + 1 : p.kv_length) / kKeys;

  const TileLoader<T, kDim, kKeys, 32> loader_k(k, p.k_row, p.kv_length, p.head_dim, p.aligned);
  const TileLoader<T, kDim, kKeys, 32> loader_v(v, p.v_row, p.kv_length, p.value_dim, p.aligned);
  const auto load = [&](int piece, int at) {
    loader_k.load(shared_k + at, ring + at, piece * kKeys);
    loader_v.load(shared_k + at + Shape::kTileBytes, ring + at + Shape::kTileBytes, piece * kKeys);
  };

  // Where other blocks hide it, the query comes with the first keys; else before them.
  constexpr bool kQueryFirst = Shape::kBlocksPerSm == 1;
  const auto load_query = [&] {
    load_packed_rows<T, kDim, kRows, Shape::kThreads>(shared_q, shared, q, p, rows);
  };
  if constexpr (kQueryFirst) {
    load_query();
    copy_async_commit();
  }
#pragma unroll
  for (int stage = 0; stage < kStages; ++stage) {
    if (first + stage * kWarps < end) load(first + stage * kWarps, stage * 2 * Shape::kTileBytes);
    if (!kQueryFirst && stage == 0) load_query();
    copy_async_commit();
  }
  copy_async_wait<kQueryFirst ? kStages : kStages - 1>();
  __syncthreads();
  const uint32_t lane_q = shared_q + lane_rows_a<kDim>(0, lane);
  uint32_t q_registers[Shape::kQueryInRegisters ? kSteps : 1][4];
  if constexpr (Shape::kQueryInRegisters) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) load_matrices(q_registers[step], lane_q ^ (step * 32));
  }
  const auto query = [&](int, int step, uint32_t(&fragment)[4]) {
    if constexpr (Shape::kQueryInRegisters) {
#pragma unroll
      for (int e = 0; e < 4; ++e) fragment[e] = q_registers[step][e];
    } else {
      load_matrices(fragment, lane_q ^ (step * 32));
    }
  };

  float out[1][kDim / 8][4];
#pragma unroll
  for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
    for (int e = 0; e < 4; ++e) out[0][d][e] = 0.0f;
  RowState<1> state;
  state.start();
  const Exponent<kGeneral> exponent(p.scale);
  // The row of half h; one that exists, where the tile hangs over.
  const auto row_of = [&](int h) { return min(rows.first + lane / 4 + h * 8, rows.end - 1); };

  int at = 0;  // of the stage
  for (int piece = first; piece < end; piece += kWarps) {
    copy_async_wait<kStages - 1>();
    __syncwarp();
    float scores[1][kTiles][4];
    multiply_keys<T, kDim>(scores, shared_k + at + lane_rows_b<kDim>(lane), query);
    const int column = piece * kKeys + lane % 4 * 2;
    if constexpr (kGeneral) {
      scale_and_mask(scores, p, column, [&](int, int h) {
        const int row = row_of(h);
        return rows.batch * p.mask_batch + rows.head_of(row) * p.mask_head + rows.position(row) * p.mask_row;
      });
    }
    if (windowed && piece * kKeys < window_end)
      hide_before_window(scores, p, column, [&](int, int h) { return rows.position(row_of(h)); });
    if (piece >= first_edge)
      hide_edges(scores, p, column, [&](int, int h) { return rows.position(row_of(h)); });
    state.take_maximum(scores, out, exponent);
#pragma unroll
    for (int c = 0; c < kKeys / 16; ++c) {
      uint32_t weights[1][4];
      weigh<T>(state, scores, c, exponent, weights);
      multiply_values<T, kDim>(out, weights, shared_k + at + Shape::kTileBytes + lane_rows_a<kDim>(0, lane),
                               c);
    }
    __syncwarp();  // the stage is read
    if (piece + kStages * kWarps < end) load(piece + kStages * kWarps, at);
    copy_async_commit();
    at = at == (kStages - 1) * 2 * Shape::kTileBytes ? 0 : at + 2 * Shape::kTileBytes;
  }

  // Each warp's rows into shared memory, and from there together.
  const int count = min(kRows, rows.end - rows.first);
  const FoundByWarps<Shape> found{reinterpret_cast<float*>(shared)};
  using Together = PartsInCluster<kDim, kRows>;
  static_assert(FoundByWarps<Shape>::kFloats * 4 + Together::kBytes <= Shape::kSharedBytes);
  static_assert(kRows * flash::kMostParts * 4 + 16 <= Shape::kSharedBytes);
  __syncthreads();
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (h * 8 >= count) break;
    const int local = lane / 4 + h * 8;
    const float sum = state.total(0, h);
    if (lane % 4 == 0) *found.mass(warp, local) = {exponent.natural(state.maximum[0][h]), sum};
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
      *reinterpret_cast<float2*>(found.out(warp, local) + d * 8 + lane % 4 * 2) =
          make_float2(out[0][d][2 * h], out[0][d][2 * h + 1]);
  }
  __syncthreads();
  const auto add_up_warps = [&](const auto& target) {
    add_up_few_parts<kDim, kWarps, kWarps>(
        count, p.value_dim, kWarps, 0, 1, [&](int s, int local) { return *found.mass(s, local); },
        [&](int s, int local, int column) {
          return *reinterpret_cast<const float4*>(found.out(s, local) + column);
        },
        target);
  };
  const ToOutput<T, FlashRows<true>> output{p, rows};
  if (p.splits == 1) return add_up_warps(output);
  const PartsInMemory in_memory(p, static_cast<int64_t>(of_group) * rows.end + rows.first);
  // Blocks of a cluster come together in shared memory, and clusters, or blocks that have none, through
  // memory.
  const Together together(shared + FoundByWarps<Shape>::kFloats * 4);
  const int cluster = together.blocks(), parts = p.splits / cluster;
  if (cluster > 1) {
    add_up_warps(together);
    if (parts == 1) return together.template combine<kWarps>(count, p.value_dim, output);
    together.template combine<kWarps>(count, p.value_dim, in_memory.target(split / cluster));
    if (split % cluster != 0) return;
  } else {
    add_up_warps(in_memory.target(split));
  }
  if (!is_last_part(p.counters + tile, parts, reinterpret_cast<int*>(shared))) return;
  combine_parts<kDim, kWarps>(count, p.value_dim, parts, in_memory, reinterpret_cast<float*>(shared) + 4,
                              output);
}

}  // namespace hunch::attention::sm80
