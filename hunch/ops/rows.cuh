// For kernels that treat the last dimension as a whole (softmax, all, tril): where the rows of a strided
// tensor begin, and reductions over the threads that share a row. A group is a warp, or a block of several.
#pragma once

#include "hunch/ops/strided.cuh"

namespace hunch::ops::cuda {

class Rows {
 public:
  // x has rank 1 or more.
  explicit Rows(const tensor::Tensor& x) : data_(x.data()), length_(x.size(-1)) {
    const auto size = static_cast<int64_t>(tensor::size_of(x.dtype()));
    element_ = size;
    step_ = x.stride(-1) * size;
    for (int dim = x.rank() - 2; dim >= 0; --dim) {
      count_ *= x.size(dim);
      if (x.size(dim) == 1) continue;
      if (rank_ > 0 && row_step_[rank_ - 1] * size_[rank_ - 1] == x.stride(dim) * size) {
        size_[rank_ - 1] *= x.size(dim);
      } else {
        size_[rank_] = x.size(dim);
        row_step_[rank_++] = x.stride(dim) * size;
      }
    }
    for (int dim = 0; dim < rank_; ++dim)
      if (size_[dim] < int64_t{1} << 31) divisor_[dim] = FastDivisor(std::max<int64_t>(1, size_[dim]));
  }

  // Whether rows can be read by packs of `width` elements, the last one in part.
  bool serves(int width) const {
    const int64_t access = std::min<int64_t>(16, width * element_);
    bool aligned = (step_ == element_ || length_ == 1) && reinterpret_cast<uintptr_t>(data_) % access == 0;
    for (int dim = 0; dim < rank_; ++dim) aligned = aligned && row_step_[dim] % access == 0;
    return aligned && length_ % width == 0;
  }

  __host__ __device__ int64_t count() const { return count_; }
  __host__ __device__ int64_t length() const { return length_; }
  __host__ __device__ int64_t step() const { return step_; }  // bytes between a row's elements

  // Row `index` < count(). Divisions are by multiplication where there are fewer than 2^31 rows.
  __device__ __forceinline__ const std::byte* row(int64_t index) const {
    const std::byte* at = data_;
    const bool small = count_ < int64_t{1} << 31;
#pragma unroll 1
    for (int dim = 0; dim + 1 < rank_; ++dim) {
      const int64_t next = small ? static_cast<int64_t>(divisor_[dim].divide(static_cast<uint32_t>(index)))
                                 : index / size_[dim];
      at += (index - next * size_[dim]) * row_step_[dim];
      index = next;
    }
    return rank_ == 0 ? at : at + index * row_step_[rank_ - 1];
  }

 private:
  const std::byte* data_;
  int64_t length_, element_ = 0, step_ = 0, count_ = 1;
  int rank_ = 0;
  int64_t size_[tensor::Shape::kMaxRank] = {}, row_step_[tensor::Shape::kMaxRank] = {};
  FastDivisor divisor_[tensor::Shape::kMaxRank];
};

struct Max {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Plus {
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

// `value` of all threads of a group reduced, the same on each. Groups of more than a warp are whole blocks;
// `scratch` has 32 floats, and may be used again by the next call.
template <int kGroup, class Reduce>
__device__ __forceinline__ float reduce_group(float value, float* scratch, const Reduce& reduce) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = reduce(value, __shfl_xor_sync(0xFFFFFFFFU, value, step));
  if constexpr (kGroup > 32) {
    constexpr int kWarps = kGroup / 32;
    __syncthreads();  // the last call's readers are done
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = scratch[threadIdx.x % kWarps];
#pragma unroll
    for (int step = kWarps / 2; step > 0; step /= 2)
      value = reduce(value, __shfl_xor_sync(0xFFFFFFFFU, value, step));
  }
  return value;
}

}  // namespace hunch::ops::cuda
