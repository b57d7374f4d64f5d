// Decoding: what flash's packed rows need besides the common loop. Rows of a tile belong to several heads, so
// each has an address of its own; with the keys split, results are parts in f32 that
// the last block of a tile to come adds up.
//
// The ladder, one query, batch 8, bf16, GB/s of K and V on one H200 (16 heads x 4096 keys x 64; 32 heads in
// groups of 4 x 4096, 16384 and 65536 keys x 128; PyTorch 2.11's flash 2210, 1200, 4094, 4478): a tile for
// every head: 686 to 1192; packed, tiles of 64 and 32 keys: 2859, 2694, 3598, 3914; of 128 and 64 keys: 2984,
// 3120, 4080, 4466; with the parts put together in the same launch: 3338, 3238, 4182, 4532 (cuDNN 9.19: 3388,
// 3296, 4212, 4522; before that, two launches, 0.93 to 0.99 of it). More or fewer parts than fill the device
// once: 0.72 to 0.97.
#pragma once

#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/loader_sm80.cuh"
#include "hunch/attention/tiles/online_softmax_sm80.cuh"

namespace hunch::attention::sm80 {

// The tile of Q from packed rows; `q` is the first head of the group.
template <class T, int kDim, int kRows, int kThreads, class Rows>
__device__ __forceinline__ void load_packed_rows(uint32_t target, char* generic, const T* q,
                                                 const AttentionParams& p, const Rows& rows) {
  constexpr int kChunks = kDim / 8;
  for (int index = static_cast<int>(threadIdx.x); index < kRows * kChunks; index += kThreads) {
    const int local = index / kChunks, chunk = index % kChunks;
    const int row = rows.first + local;
    const bool inside = row < rows.end && chunk * 8 < p.head_dim;
    const T* const from = inside ? q + row / p.length * p.q_head + row % p.length * p.q_row + chunk * 8 : q;
    const uint32_t offset = swizzled<kDim>(local, chunk);
    if (p.aligned) {
      copy_async_16(target + offset, from, inside ? 16 : 0);
      continue;
    }
    alignas(16) T values[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) values[e] = inside && chunk * 8 + e < p.head_dim ? from[e] : T(0.0f);
    *reinterpret_cast<uint4*>(generic + offset) = *reinterpret_cast<const uint4*>(values);
  }
}

// The parts' log-sum-exp, [splits, batch, heads, length], behind their outputs, [splits, batch, heads,
// length, value_dim].
__device__ __forceinline__ float* partial_lse(const AttentionParams& p, int64_t all_rows) {
  return p.partial_out + p.splits * all_rows * p.value_dim;
}

// One row (half `h` of an accumulator) to the output or, where keys are split, to part `split`. `at` is the
// row's number among all rows.
template <class T, int kDim>
__device__ __forceinline__ void write_packed_row(const AttentionParams& p, int batch, int head, int position,
                                                 int split, int64_t at, float lse,
                                                 const float (&out)[kDim / 8][4], int h, float inverse,
                                                 int lane) {
  const int64_t all_rows = static_cast<int64_t>(p.batch) * p.heads * p.length;
  if (p.splits > 1) {
    const int64_t part = split * all_rows + at;
    if (lane % 4 == 0) __stcg(partial_lse(p, all_rows) + part, lse);
    float* const target = p.partial_out + part * p.value_dim;
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = d * 8 + (lane % 4) * 2 + e;
        if (column < p.value_dim) __stcg(target + column, out[d][2 * h + e] * inverse);
      }
    return;
  }
  if (p.lse != nullptr && lane % 4 == 0) p.lse[at] = lse;
  T* const target = static_cast<T*>(p.out) + batch * p.o_batch + head * p.o_head + position * p.o_row;
#pragma unroll
  for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int column = d * 8 + (lane % 4) * 2 + e;
      if (column < p.value_dim) target[column] = T(out[d][2 * h + e] * inverse);
    }
}

// True for the block that is the last to come here of those with the same `tile`, for all its threads: what
// the others wrote before is then there to be read. The counter is zero again after it. `flag` is shared
// memory that no one else uses.
__device__ __forceinline__ bool is_last_part(const AttentionParams& p, int tile, int* flag) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto others = static_cast<unsigned>(p.splits - 1);
    *flag = atomicInc(p.counters + tile, others) == others ? 1 : 0;
  }
  __syncthreads();
  const bool last = *flag != 0;
  if (last) __threadfence();
  return last;
}

// out = sum over parts of exp(lse_s - lse) out_s, in order of parts, for row `at`; by one warp.
template <class T>
__device__ __forceinline__ void combine_parts(const AttentionParams& p, int batch, int head, int position,
                                              int64_t at, int lane) {
  const int64_t rows = static_cast<int64_t>(p.batch) * p.heads * p.length;
  const float* const lse = partial_lse(p, rows);
  float most = -INFINITY;
  for (int s = lane; s < p.splits; s += 32) most = fmaxf(most, __ldcg(lse + s * rows + at));
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  float sum = 0.0f;
  for (int s = lane; s < p.splits && most > -INFINITY; s += 32)
    sum += expf(__ldcg(lse + s * rows + at) - most);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  T* const out = static_cast<T*>(p.out) + batch * p.o_batch + head * p.o_head + position * p.o_row;
  constexpr int kMost = 8;  // of 32 columns each: value_dim is at most 256
  float values[kMost] = {};
  for (int s = 0; s < p.splits && most > -INFINITY; ++s) {
    const float weight = expf(__ldcg(lse + s * rows + at) - most);
    const float* const part = p.partial_out + (s * rows + at) * p.value_dim;
#pragma unroll
    for (int i = 0; i < kMost; ++i)
      if (i * 32 + lane < p.value_dim) values[i] += weight * __ldcg(part + i * 32 + lane);
  }
#pragma unroll
  for (int i = 0; i < kMost; ++i)
    if (i * 32 + lane < p.value_dim) out[i * 32 + lane] = T(most > -INFINITY ? values[i] / sum : 0.0f);
  if (p.lse != nullptr && lane == 0) p.lse[at] = most > -INFINITY ? most + logf(sum) : -INFINITY;
}

}  // namespace hunch::attention::sm80
