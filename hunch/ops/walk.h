// The walk that elementwise kernels share: over all elements of an output, with any number of broadcast,
// strided inputs beside it, cut into tiles and handed out as straight runs.
//
// Dimensions that lie dense in every operand are merged first, so that contiguous tensors become one long
// run whatever their rank. Operand 0 is the output and gives the shape; a stride of 0 is a broadcast.
// In a run, operand k's elements lie step(k) bytes apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "hunch/tensor/tensor.h"

namespace hunch::ops {

template <std::size_t N>
class Walk {
 public:
  using Pointers = std::array<std::byte*, N>;
  static constexpr int64_t kTile = 32768;  // elements: some microseconds of work, and room for every worker

  // Operands already expanded to the shape of the first.
  explicit Walk(const std::array<const tensor::Tensor*, N>& operands) {
    const tensor::Shape& shape = operands[0]->shape();
    numel_ = shape.numel();
    for (std::size_t k = 0; k < N; ++k) data_[k] = operands[k]->data();
    for (int dim = 0; dim < shape.rank(); ++dim) {
      if (shape[dim] == 1) continue;
      std::array<int64_t, N> step;
      for (std::size_t k = 0; k < N; ++k)
        step[k] = operands[k]->stride(dim) * static_cast<int64_t>(tensor::size_of(operands[k]->dtype()));
      if (rank_ > 0 && merges(step, shape[dim])) {
        size_[rank_ - 1] *= shape[dim];
        step_[rank_ - 1] = step;
      } else {
        size_[rank_] = shape[dim];
        step_[rank_++] = step;
      }
    }
    if (rank_ == 0) {  // one element
      size_[0] = 1;
      for (std::size_t k = 0; k < N; ++k)
        step_[0][k] = static_cast<int64_t>(tensor::size_of(operands[k]->dtype()));
      rank_ = 1;
    }
  }

  int64_t tiles() const { return (numel_ + kTile - 1) / kTile; }
  int64_t step(std::size_t operand) const { return step_[rank_ - 1][operand]; }

  // Calls run(pointers, count) for the straight runs of one tile, in the output's order.
  template <class Run>
  void tile(int64_t index, const Run& run) const {
    int64_t left = std::min(kTile, numel_ - index * kTile);
    std::array<int64_t, tensor::Shape::kMaxRank> at = {};
    Pointers pointers = data_;
    int64_t rest = index * kTile;
    for (std::size_t dim = rank_; dim-- > 0;) {
      at[dim] = rest % size_[dim];
      rest /= size_[dim];
      move(pointers, dim, at[dim]);
    }
    const std::size_t inner = rank_ - 1;
    while (left > 0) {
      const int64_t count = std::min(left, size_[inner] - at[inner]);
      run(pointers, count);
      left -= count;
      if (left == 0) return;
      move(pointers, inner, -at[inner]);
      at[inner] = 0;
      for (std::size_t dim = inner; dim-- > 0;) {
        move(pointers, dim, 1);
        if (++at[dim] < size_[dim]) break;
        move(pointers, dim, -size_[dim]);
        at[dim] = 0;
      }
    }
  }

 private:
  // Whether the last dimension kept and one of `size` elements inside it are one dimension in all operands.
  bool merges(const std::array<int64_t, N>& step, int64_t size) const {
    for (std::size_t k = 0; k < N; ++k)
      if (step_[rank_ - 1][k] != step[k] * size) return false;
    return true;
  }
  void move(Pointers& pointers, std::size_t dim, int64_t count) const {
    for (std::size_t k = 0; k < N; ++k) pointers[k] += step_[dim][k] * count;
  }

  int64_t numel_ = 0;
  std::size_t rank_ = 0;
  Pointers data_ = {};
  std::array<int64_t, tensor::Shape::kMaxRank> size_ = {};
  std::array<std::array<int64_t, N>, tensor::Shape::kMaxRank> step_ = {};
};

}  // namespace hunch::ops
