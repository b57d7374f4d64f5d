// Tiles of rows in shared memory: where each 16-byte chunk lies, and how tiles of K and V get there.
// In:  a matrix in device memory, any row stride, its last dimension dense. Out: kRows rows of kDim elements
// in shared memory; what lies outside of the matrix is zero.
// Holds: nothing outside of the matrix is read; eight rows of one chunk column lie in eight bank groups, by
// swizzling for 16-bit elements, by a padding of 16 bytes a row for f32 (whose fragments of V are read down a
// column, which a swizzle would not help).
#pragma once

#include "hunch/attention/tiles/ptx_sm80.cuh"

namespace hunch::attention::sm80 {

// Byte offset of 16-byte chunk `chunk` of row `row`.
template <int kDim>
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
  return static_cast<uint32_t>(row * kDim * 2 + ((chunk ^ (row & 7)) << 4));
}
template <class T, int kDim>
__device__ __forceinline__ uint32_t place_of(int row, int chunk) {
  if constexpr (sizeof(T) == 2) return swizzled<kDim>(row, chunk);
  return static_cast<uint32_t>(row * (kDim * 4 + 16) + (chunk << 4));
}
template <class T, int kDim>
constexpr int kRowBytes = sizeof(T) == 2 ? kDim * 2 : kDim * 4 + 16;

// Copies tiles, each thread the same 16-byte column of rows that lie kThreads / (chunks a row) apart; so a
// tile costs a thread one address and a few additions.
template <class T, int kDim, int kRows, int kThreads>
class TileLoader {
 public:
  __device__ __forceinline__ TileLoader(const T* source, int64_t row_stride, int rows, int columns,
                                        bool aligned)
      : stride_(row_stride), rows_(rows), columns_(columns), aligned_(aligned) {
    const int thread = static_cast<int>(threadIdx.x) % kThreads;  // 32: of its warp
    row_ = thread / kChunks;
    const int chunk = thread % kChunks;
    column_ = chunk * kPerChunk;
    offset_ = place_of<T, kDim>(row_, chunk);
    source_ = source + row_ * row_stride + column_;
  }

  // Rows first to first + kRows; `generic` is the same place as `target`, for stores that are not copies.
  __device__ __forceinline__ void load(uint32_t target, char* generic, int first) const {
    const T* from = source_ + first * stride_;
    if (aligned_) {
      const int valid = column_ < columns_ ? 16 : 0;
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
      alignas(16) T values[kPerChunk];
      const bool inside = first + row_ + i * kStep < rows_;
#pragma unroll
      for (int e = 0; e < kPerChunk; ++e)
        values[e] = inside && column_ + e < columns_ ? from[i * kStep * stride_ + e] : T(0.0f);
      *reinterpret_cast<uint4*>(generic + offset(i)) = *reinterpret_cast<const uint4*>(values);
    }
  }

 private:
  static constexpr int kPerChunk = 16 / sizeof(T);
  static constexpr int kChunks = kDim / kPerChunk;
  static constexpr int kStep = kThreads / kChunks;
  static constexpr int kPasses = kRows / kStep;
  static_assert(kThreads % kChunks == 0 && kRows % kStep == 0);

  // Where the rows of a thread keep their place in the swizzle the offset only moves down.
  __device__ __forceinline__ uint32_t offset(int pass) const {
    if constexpr (kStep % 8 == 0 || sizeof(T) == 4) return offset_ + pass * kStep * kRowBytes<T, kDim>;
    return (offset_ ^ ((pass * kStep & 7) << 4)) + pass * kStep * kRowBytes<T, kDim>;  // as row_ < kStep
  }
  // Any address that may be read: for copies of no bytes.
  __device__ __forceinline__ const T* source_base() const { return source_ - row_ * stride_ - column_; }

  const T* source_;
  int64_t stride_;
  int rows_, columns_, row_, column_;
  uint32_t offset_;
  bool aligned_;
};

}  // namespace hunch::attention::sm80
