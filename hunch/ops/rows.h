// For kernels that treat the last dimension as a whole (softmax, all, tril): finds the rows of a strided
// tensor, and groups short ones so that a tile is worth its hand-out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hunch/tensor/tensor.h"

namespace hunch::ops {

class Rows {
 public:
  static constexpr int64_t kTile = 32768;  // elements a tile, about

  // x has rank 1 or more.
  explicit Rows(const tensor::Tensor& x)
      : data_(x.data()), length_(x.size(-1)), size_(static_cast<int64_t>(tensor::size_of(x.dtype()))) {
    step_ = x.stride(-1) * size_;
    for (int dim = 0; dim + 1 < x.rank(); ++dim) {
      outer_.push_back(x.size(dim));
      strides_.push_back(x.stride(dim) * size_);
    }
    count_ = outer_.numel();
    per_tile_ = std::max<int64_t>(1, kTile / std::max<int64_t>(1, length_));
  }

  int64_t length() const { return length_; }  // elements a row
  int64_t count() const { return count_; }    // rows
  int64_t step() const { return step_; }      // bytes between a row's elements
  int64_t tiles() const { return (count_ + per_tile_ - 1) / per_tile_; }
  int64_t tile_begin(int64_t tile) const { return tile * per_tile_; }
  int64_t tile_end(int64_t tile) const { return std::min(count_, (tile + 1) * per_tile_); }

  std::byte* row(int64_t index) const {
    std::byte* at = data_;
    for (int dim = outer_.rank() - 1; dim >= 0; --dim) {
      at += index % outer_[dim] * strides_[dim];
      index /= outer_[dim];
    }
    return at;
  }

 private:
  std::byte* data_;
  int64_t length_, size_, step_ = 0, count_ = 0, per_tile_ = 1;
  tensor::Shape outer_;
  tensor::Strides strides_;
};

}  // namespace hunch::ops
