// FlashAttention forward with mma.sync: one block a tile of query rows, K and V streamed through shared
// memory.
//
// In:  FlashParams (flash_sm80.h): q, k, v in f16 or bf16, any strides with a unit last one, an optional
// mask. Out: softmax(scale q k^T + mask) v in the same type, and the log-sum-exp where asked for. Holds: f32
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
// Causal gains 8 to 12 % from putting the longest tile of every head first (tile_major).
#pragma once

#include "hunch/attention/flash/flash_sm80.h"
#include "hunch/attention/tiles/ptx_sm80.cuh"

namespace hunch::attention::sm80 {

template <class T_, int kDim_, int kRows_, int kKeys_, int kWarps_, int kBlocksPerSm_,
          bool kQueryInRegisters_>
struct FlashShape {
  using T = T_;
  static constexpr int kDim = kDim_;    // head_dim rounded up
  static constexpr int kRows = kRows_;  // query rows a block
  static constexpr int kKeys = kKeys_;  // keys a tile
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = kWarps_ * 32;
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr bool kQueryInRegisters = kQueryInRegisters_;
  static constexpr int kM = kRows / kWarps / 16;  // 16-row tiles a warp
  static constexpr int kChunks = kKeys / 16;
  static constexpr int kSteps = kDim / 16;
  static constexpr int kQueryBytes = kRows * kDim * 2;
  static constexpr int kTileBytes = kKeys * kDim * 2;
  static constexpr int kSharedBytes = kQueryBytes + 4 * kTileBytes;
  static_assert(kRows == kWarps * kM * 16 && kDim % 64 == 0 && kKeys % 16 == 0);
};

// Byte offset of 16-byte chunk `chunk` of row `row`, swizzled so that eight rows of one chunk column fall
// into eight different bank groups.
template <int kDim>
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
  return static_cast<uint32_t>(row * kDim * 2 + ((chunk ^ (row & 7)) << 4));
}

// Copies tiles of kRows rows to shared memory, each thread the same 16-byte column of rows that lie
// kThreads / (chunks a row) apart; so a tile costs a thread one address and a few additions. What lies
// outside of the matrix becomes zero.
template <class T, int kDim, int kRows, int kThreads>
class TileLoader {
 public:
  __device__ __forceinline__ TileLoader(const T* source, int64_t row_stride, int rows, int head_dim,
                                        bool aligned)
      : stride_(row_stride), rows_(rows), head_dim_(head_dim), aligned_(aligned) {
    const int thread = static_cast<int>(threadIdx.x);
    row_ = thread / kChunks;
    const int chunk = thread % kChunks;
    column_ = chunk * 8;
    offset_ = swizzled<kDim>(row_, chunk);
    source_ = source + row_ * row_stride + column_;
  }

  __device__ __forceinline__ void load(uint32_t target, char* generic, int first) const {
    const T* from = source_ + first * stride_;
    if (aligned_) {
      const int valid = column_ < head_dim_ ? 16 : 0;
      if (first + kRows <= rows_) {
#pragma unroll
        for (int i = 0; i < kPasses; ++i) {
          copy_async_16(target + offset(i), valid != 0 ? from : source_base(), valid);
          from += kStep * stride_;
        }
      } else {
#pragma unroll
        for (int i = 0; i < kPasses; ++i) {
          const bool inside = first + row_ + i * kStep < rows_ && valid != 0;
          copy_async_16(target + offset(i), inside ? from + i * kStep * stride_ : source_base(),
                        inside ? 16 : 0);
        }
      }
      return;
    }
    for (int i = 0; i < kPasses; ++i) {
      alignas(16) T values[8];
      const bool inside = first + row_ + i * kStep < rows_;
#pragma unroll
      for (int e = 0; e < 8; ++e)
        values[e] = inside && column_ + e < head_dim_ ? from[i * kStep * stride_ + e] : T(0.0f);
      *reinterpret_cast<uint4*>(generic + offset(i)) = *reinterpret_cast<const uint4*>(values);
    }
  }

 private:
  static constexpr int kChunks = kDim / 8;
  static constexpr int kStep = kThreads / kChunks;
  static constexpr int kPasses = kRows / kStep;
  static_assert(kThreads % kChunks == 0 && kRows % kStep == 0);

  // Where the rows of a thread keep their place in the swizzle the offset only moves down.
  __device__ __forceinline__ uint32_t offset(int pass) const {
    if constexpr (kStep % 8 == 0) return offset_ + pass * kStep * kDim * 2;
    return swizzled<kDim>(row_ + pass * kStep, column_ / 8);
  }
  // Any address that may be read: for copies of no bytes.
  __device__ __forceinline__ const T* source_base() const { return source_ - row_ * stride_ - column_; }

  const T* source_;
  int64_t stride_;
  int rows_, head_dim_, row_, column_;
  uint32_t offset_;
  bool aligned_;
};

// The additive mask of one pair: 0, -inf, or the mask's value; in units of the natural exponent.
__device__ __forceinline__ float mask_value(const FlashParams& p, int64_t offset) {
  switch (p.mask_type) {
    case MaskType::boolean:
      return static_cast<const uint8_t*>(p.mask)[offset] != 0 ? 0.0f : -INFINITY;
    case MaskType::f32:
      return static_cast<const float*>(p.mask)[offset];
    case MaskType::f16:
      return __half2float(static_cast<const __half*>(p.mask)[offset]);
    case MaskType::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(p.mask)[offset]);
    case MaskType::none:
      break;
  }
  return 0.0f;
}

constexpr float kLog2E = 1.4426950408889634f;

// kGeneral: scores are scaled (by any scale) and masked before the maximum is taken; else scale > 0 and no
// mask tensor, and the scale is folded into the exponent.
template <class Shape, bool kGeneral, bool kSplit>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerSm)
    flash_forward_kernel(const __grid_constant__ FlashParams p) {
  using T = typename Shape::T;
  constexpr int kM = Shape::kM, kChunks = Shape::kChunks, kSteps = Shape::kSteps, kDim = Shape::kDim;
  constexpr int kKeys = Shape::kKeys, kRows = Shape::kRows, kThreads = Shape::kThreads;
  constexpr int kTiles = kKeys / 8;  // 8-key accumulator tiles

  extern __shared__ __align__(1024) char shared[];
  const uint32_t shared_q = shared_address(shared);
  const uint32_t shared_k = shared_q + Shape::kQueryBytes;
  const uint32_t shared_v = shared_k + 2 * Shape::kTileBytes;
  char* const generic_k = shared + Shape::kQueryBytes;
  char* const generic_v = generic_k + 2 * Shape::kTileBytes;

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  // Which tile of which head.
  const int tiles = (p.length + kRows - 1) / kRows;
  const int64_t all_heads = static_cast<int64_t>(p.batch) * p.heads;
  int64_t block = blockIdx.x;
  int split = 0;
  if constexpr (kSplit) {
    split = static_cast<int>(block % p.splits);
    block /= p.splits;
  }
  const int tile_index = static_cast<int>(p.tile_major ? block / all_heads : block % tiles);
  const int64_t bh = p.tile_major ? block % all_heads : block / tiles;
  const int tile = p.causal ? tiles - 1 - tile_index : tile_index;  // the longest rows first
  const int batch = static_cast<int>(bh / p.heads);
  const int head = static_cast<int>(bh % p.heads);
  const int kv_head = head / (p.heads / p.kv_heads);
  const int first_row = tile * kRows;

  const T* const q = static_cast<const T*>(p.q) + batch * p.q_batch + head * p.q_head;
  const T* const k = static_cast<const T*>(p.k) + batch * p.k_batch + kv_head * p.k_head;
  const T* const v = static_cast<const T*>(p.v) + batch * p.v_batch + kv_head * p.v_head;

  // Key tiles [tile_begin, tile_end); from `first_edge` on they need a comparison per pair.
  const int last_key = p.causal ? min(p.kv_length, first_row + kRows) : p.kv_length;
  int tile_begin = 0;
  int tile_end = (last_key + kKeys - 1) / kKeys;
  if constexpr (kSplit) {
    const int share = (tile_end + p.splits - 1) / p.splits;
    tile_begin = min(split * share, tile_end);
    tile_end = min(tile_begin + share, tile_end);
  }
  const int first_edge = min(p.kv_length / kKeys, p.causal ? (first_row + 1) / kKeys : p.kv_length);

  const TileLoader<T, kDim, kKeys, kThreads> loader_k(k, p.k_row, p.kv_length, p.head_dim, p.aligned);
  const TileLoader<T, kDim, kKeys, kThreads> loader_v(v, p.v_row, p.kv_length, p.head_dim, p.aligned);
  const auto load_k = [&](int j) {
    loader_k.load(shared_k + (j & 1) * Shape::kTileBytes, generic_k + (j & 1) * Shape::kTileBytes, j * kKeys);
  };
  const auto load_v = [&](int j) {
    loader_v.load(shared_v + (j & 1) * Shape::kTileBytes, generic_v + (j & 1) * Shape::kTileBytes, j * kKeys);
  };

  float out[kM][kDim / 8][4];
  float maximum[kM][2];
  float sum[kM][2];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    maximum[m][0] = maximum[m][1] = -INFINITY;
    sum[m][0] = sum[m][1] = 0.0f;
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[m][d][e] = 0.0f;
  }

  // Lane offsets of ldmatrix within a tile: rows of Q and V by lane % 16, of K by eights.
  const int warp_row = warp * kM * 16;
  const int row_a = lane % 16, chunk_a = lane / 16;
  const int row_b = (lane / 16) * 8 + lane % 8, chunk_b = (lane / 8) % 2;

  // Stepping over 16 columns flips bits of the swizzled address; rows of sixteen leave those bits alone.
  const uint32_t lane_q = shared_q + swizzled<kDim>(warp_row + row_a, chunk_a);
  const uint32_t lane_k = shared_k + swizzled<kDim>(row_b, chunk_b);
  const uint32_t lane_v = shared_v + swizzled<kDim>(row_a, chunk_a);

  uint32_t q_registers[Shape::kQueryInRegisters ? kM : 1][Shape::kQueryInRegisters ? kSteps : 1][4];
  const auto query = [&](int m, int step, uint32_t(&fragment)[4]) {
    if constexpr (Shape::kQueryInRegisters) {
#pragma unroll
      for (int e = 0; e < 4; ++e) fragment[e] = q_registers[m][step][e];
    } else {
      load_matrices(fragment, (lane_q ^ (step * 32)) + m * 16 * kDim * 2);
    }
  };

  // Scale and mask in place; pairs that do not exist or are not allowed become -inf.
  const auto edit = [&](float(&s)[kM][kTiles][4], int j) {
    const bool edge = j >= first_edge;
    if (!kGeneral && !edge) return;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = first_row + warp_row + m * 16 + lane / 4 + (e / 2) * 8;
          const int column = j * kKeys + t * 8 + (lane % 4) * 2 + e % 2;
          const bool exists = column < p.kv_length && (!p.causal || column <= row);
          float value = s[m][t][e];
          if constexpr (kGeneral) {
            value *= p.scale;
            if (p.mask != nullptr && exists && row < p.length)
              value += mask_value(
                  p, batch * p.mask_batch + head * p.mask_head + row * p.mask_row + column * p.mask_column);
          }
          s[m][t][e] = exists ? value : -INFINITY;
        }
  };

  const float scale_log2 = kGeneral ? kLog2E : p.scale * kLog2E;

  // Takes the new maximum; rescales what has been summed only where a maximum of the warp moved.
  // What is taken off a scaled score before it is an exponent; 0 for a row without any pair yet.
  const auto shift = [&](float row_maximum) {
    return row_maximum == -INFINITY ? 0.0f : row_maximum * scale_log2;
  };
  const auto take_maximum = [&](const float(&s)[kM][kTiles][4]) {
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
        moved |= next != maximum[m][h];
        factor[m][h] = exp2_fast(maximum[m][h] * scale_log2 - shift(next));
        maximum[m][h] = next;
      }
    if (!__any_sync(0xffffffffu, moved)) return;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sum[m][h] *= factor[m][h];
#pragma unroll
        for (int d = 0; d < kDim / 8; ++d) {
          out[m][d][2 * h] *= factor[m][h];
          out[m][d][2 * h + 1] *= factor[m][h];
        }
      }
  };

  // Weights of sixteen keys, as the A operand of the product with V; their sum is added up in f32.
  const auto weigh = [&](const float(&s)[kM][kTiles][4], int c, uint32_t(&weights)[kM][4]) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float less = -shift(maximum[m][h]);
#pragma unroll
        for (int t = 0; t < 2; ++t) {
          const float x = exp2_fast(fmaf(s[m][2 * c + t][2 * h], scale_log2, less));
          const float y = exp2_fast(fmaf(s[m][2 * c + t][2 * h + 1], scale_log2, less));
          sum[m][h] += x + y;
          weights[m][2 * t + h] = pack<T>(x, y);
        }
      }
  };

  const auto accumulate = [&](const uint32_t(&weights)[kM][4], int j, int c) {
    const uint32_t tile_v = lane_v + (j & 1) * Shape::kTileBytes;
    uint32_t b[2][4];
    load_matrices_transposed(b[0], tile_v + c * 16 * kDim * 2);
#pragma unroll
    for (int d = 0; d < kDim / 16; ++d) {
      if (d + 1 < kDim / 16)
        load_matrices_transposed(b[(d + 1) % 2], (tile_v ^ ((d + 1) * 32)) + c * 16 * kDim * 2);
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        multiply_add<T>(out[m][2 * d], weights[m], b[d % 2][0], b[d % 2][1]);
        multiply_add<T>(out[m][2 * d + 1], weights[m], b[d % 2][2], b[d % 2][3]);
      }
    }
  };

  // Scores of a whole tile, column step by column step: a query fragment is loaded once for all keys.
  const auto product_tile = [&](float(&s)[kM][kTiles][4], int j) {
    const uint32_t tile_k = lane_k + (j & 1) * Shape::kTileBytes;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int e = 0; e < 4; ++e) s[m][t][e] = 0.0f;
    uint32_t a[2][kM][4];
#pragma unroll
    for (int m = 0; m < kM; ++m) query(m, 0, a[0][m]);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) {
#pragma unroll
        for (int m = 0; m < kM; ++m) query(m, step + 1, a[(step + 1) % 2][m]);
      }
      uint32_t b[2][4];
      load_matrices(b[0], tile_k ^ (step * 32));
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        if (c + 1 < kChunks) load_matrices(b[(c + 1) % 2], (tile_k ^ (step * 32)) + (c + 1) * 16 * kDim * 2);
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          multiply_add<T>(s[m][2 * c], a[step % 2][m], b[c % 2][0], b[c % 2][1]);
          multiply_add<T>(s[m][2 * c + 1], a[step % 2][m], b[c % 2][2], b[c % 2][3]);
        }
      }
    }
  };

  // One turn: scores, weights, product of one tile. At its start its K and V have arrived, and the next ones
  // are asked for.
  const auto turn = [&](int j) {
    copy_async_wait<0>();
    __syncthreads();
    if (j + 1 < tile_end) {
      load_k(j + 1);
      load_v(j + 1);
    }
    copy_async_commit();
    float scores[kM][kTiles][4];
    product_tile(scores, j);
    edit(scores, j);
    take_maximum(scores);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      uint32_t weights[kM][4];
      weigh(scores, c, weights);
      accumulate(weights, j, c);
    }
  };

  if (tile_begin < tile_end) {
    TileLoader<T, kDim, kRows, kThreads>(q, p.q_row, p.length, p.head_dim, p.aligned)
        .load(shared_q, shared, first_row);
    load_k(tile_begin);
    copy_async_commit();
    load_v(tile_begin);
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

  // Normalise and write, through the memory of Q so that rows leave in 16-byte pieces.
  __syncthreads();
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[m][h] += __shfl_xor_sync(0xffffffffu, sum[m][h], 1);
      sum[m][h] += __shfl_xor_sync(0xffffffffu, sum[m][h], 2);
      const float inverse = sum[m][h] > 0.0f ? 1.0f / sum[m][h] : (sum[m][h] == 0.0f ? 0.0f : NAN);
      const int local = warp_row + m * 16 + lane / 4 + h * 8;
      const int row = first_row + local;
      const float lse = sum[m][h] == 0.0f ? -INFINITY : maximum[m][h] * scale_log2 / kLog2E + logf(sum[m][h]);
      if constexpr (kSplit) {
        if (row < p.length) {
          const int64_t at = (static_cast<int64_t>(split) * all_heads + bh) * p.length + row;
          if (lane % 4 == 0) p.partial_lse[at] = lse;
#pragma unroll
          for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const int column = d * 8 + (lane % 4) * 2 + e;
              if (column < p.head_dim)
                p.partial_out[at * p.head_dim + column] = out[m][d][2 * h + e] * inverse;
            }
        }
      } else {
        if (p.lse != nullptr && lane % 4 == 0 && row < p.length) p.lse[bh * p.length + row] = lse;
#pragma unroll
        for (int d = 0; d < kDim / 8; ++d)
          *reinterpret_cast<uint32_t*>(shared + swizzled<kDim>(local, d) + (lane % 4) * 4) =
              pack<T>(out[m][d][2 * h] * inverse, out[m][d][2 * h + 1] * inverse);
      }
    }
  if constexpr (!kSplit) {
    __syncwarp();
    T* const target = static_cast<T*>(p.out) + batch * p.o_batch + head * p.o_head;
    constexpr int kChunksPerRow = kDim / 8;
#pragma unroll
    for (int i = 0; i < kM * 16 * kChunksPerRow / 32; ++i) {
      const int index = i * 32 + lane;
      const int local = warp_row + index / kChunksPerRow;
      const int chunk = index % kChunksPerRow;
      const int row = first_row + local;
      if (row >= p.length || chunk * 8 >= p.head_dim) continue;
      const uint4 bits = *reinterpret_cast<const uint4*>(shared + swizzled<kDim>(local, chunk));
      T* const at = target + row * p.o_row + chunk * 8;
      if (p.aligned) {
        *reinterpret_cast<uint4*>(at) = bits;
      } else {
        const T* values = reinterpret_cast<const T*>(&bits);
        for (int e = 0; e < 8 && chunk * 8 + e < p.head_dim; ++e) at[e] = values[e];
      }
    }
  }
}

}  // namespace hunch::attention::sm80
