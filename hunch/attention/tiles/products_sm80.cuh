// The two products of a tile for 16-bit elements, from swizzled shared memory: scores = Q K^T, out += P V.
// In:  addresses of tiles as loader_sm80.cuh lays them out, already moved to this lane's row (lane_rows_a for
// Q and V, lane_rows_b for K). Out: f32 accumulators. Holds: the operands of the next step are loaded ahead.
#pragma once

#include "hunch/attention/tiles/loader_sm80.cuh"

namespace hunch::attention::sm80 {

// Lane offsets of ldmatrix within a tile: rows of Q and V by lane % 16, of K by eights. Stepping over 16
// columns flips bits of the swizzled address; steps of sixteen rows leave those bits alone.
template <int kDim>
__device__ __forceinline__ uint32_t lane_rows_a(int first_row, int lane) {
  return swizzled<kDim>(first_row + lane % 16, lane / 16);
}
template <int kDim>
__device__ __forceinline__ uint32_t lane_rows_b(int lane) {
  return swizzled<kDim>((lane / 16) * 8 + lane % 8, (lane / 8) % 2);
}

// Scores of a whole tile, column step by column step: a query fragment is loaded once for all keys.
// query(m, step, fragment) gives the fragment of rows m * 16 and columns step * 16.
template <class T, int kDim, int kM, int kTiles, class Query>
__device__ __forceinline__ void multiply_keys(float (&s)[kM][kTiles][4], uint32_t tile_k,
                                              const Query& query) {
  constexpr int kSteps = kDim / 16, kChunks = kTiles / 2;
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
}

// out += weights V for the sixteen keys from c * 16 on of the tile.
template <class T, int kDim, int kM>
__device__ __forceinline__ void multiply_values(float (&out)[kM][kDim / 8][4],
                                                const uint32_t (&weights)[kM][4], uint32_t tile_v, int c) {
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
}

// Writes the rows of one warp (kM * 16 from `warp_row` on) from swizzled shared memory to rows first_row +
// ... of `target`, in 16-byte pieces where aligned. The warp's stores to that memory must be visible to it.
template <class T, int kDim, int kM>
__device__ __forceinline__ void store_rows(const char* shared, T* target, int64_t stride, int first_row,
                                           int warp_row, int rows, int columns, bool aligned, int lane) {
  constexpr int kChunksPerRow = kDim / 8;
#pragma unroll
  for (int i = 0; i < kM * 16 * kChunksPerRow / 32; ++i) {
    const int index = i * 32 + lane;
    const int local = warp_row + index / kChunksPerRow;
    const int chunk = index % kChunksPerRow;
    const int row = first_row + local;
    if (row >= rows || chunk * 8 >= columns) continue;
    const uint4 bits = *reinterpret_cast<const uint4*>(shared + swizzled<kDim>(local, chunk));
    T* const at = target + row * stride + chunk * 8;
    if (aligned) {
      *reinterpret_cast<uint4*>(at) = bits;
    } else {
      const T* values = reinterpret_cast<const T*>(&bits);
      for (int e = 0; e < 8 && chunk * 8 + e < columns; ++e) at[e] = values[e];
    }
  }
}

}  // namespace hunch::attention::sm80
