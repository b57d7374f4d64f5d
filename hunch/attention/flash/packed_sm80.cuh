// Packed rows: the query heads that share a key head stand below each other in one tile, as decoding has few
// queries for each. What the flash kernels need for rows that belong to several heads, of which each has an
// address of its own.
#pragma once

#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/loader_sm80.cuh"
#include "hunch/attention/tiles/ptx_sm80.cuh"

namespace hunch::attention::sm80 {

// Which rows a block computes. Packed: the query heads that share a key head stand below each other, row r is
// position r % length of the group's head r / length, so that a few queries of many heads fill one tile.
template <bool kPacked>
struct FlashRows {
  int batch, head, kv_head;  // packed: the first head of the group
  int first, end;            // the block's rows, of `end` in all
  int length;

  // One query, as decoding has it, needs no division.
  __device__ __forceinline__ int head_of(int row) const {
    return !kPacked ? head : length == 1 ? head + row : head + row / length;
  }
  __device__ __forceinline__ int position(int row) const {
    return !kPacked ? row : length == 1 ? 0 : row % length;
  }
  // Least and greatest position of rows [first, first + count).
  __device__ __forceinline__ int least(int count) const {
    const int last = min(first + count, end) - 1;
    return kPacked ? (first / length == last / length ? first % length : 0) : first;
  }
  __device__ __forceinline__ int greatest(int count) const {
    const int last = min(first + count, end) - 1;
    return kPacked ? (first / length == last / length ? last % length : length - 1) : last;
  }
};

// The tile of Q from packed rows; `q` is the first head of the group.
template <class T, int kDim, int kRows, int kThreads, class Rows>
__device__ __forceinline__ void load_packed_rows(uint32_t target, char* generic, const T* q,
                                                 const AttentionParams& p, const Rows& rows) {
  constexpr int kChunks = kDim / 8;
  for (int index = static_cast<int>(threadIdx.x); index < kRows * kChunks; index += kThreads) {
    const int local = index / kChunks, chunk = index % kChunks;
    const int row = rows.first + local;
    const bool inside = row < rows.end && chunk * 8 < p.head_dim;
    const T* const from =
        inside ? q + (rows.head_of(row) - rows.head) * p.q_head + rows.position(row) * p.q_row + chunk * 8
               : q;
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

}  // namespace hunch::attention::sm80
