// Shapes and strides: up to eight dimensions, in elements, stored inline.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace hunch::tensor {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);

  int rank() const { return rank_; }
  // `dim` may be negative: -1 is the last.
  int64_t operator[](int dim) const { return sizes_[static_cast<std::size_t>(dim < 0 ? dim + rank_ : dim)]; }
  int64_t& operator[](int dim) { return sizes_[static_cast<std::size_t>(dim < 0 ? dim + rank_ : dim)]; }
  void push_back(int64_t size);
  bool operator==(const Shape& other) const;

  int64_t numel() const;     // product of the sizes; 1 for rank 0
  std::string text() const;  // "8x16x1024x64"; "scalar" for rank 0

  // The shape that both broadcast to, aligned at the last dimension; rank 0 with `ok` false if there is none.
  static Shape broadcast(const Shape& a, const Shape& b, bool& ok);

 private:
  std::array<int64_t, kMaxRank> sizes_ = {};
  int rank_ = 0;
};

using Strides = Shape;  // in elements; 0 where a dimension is broadcast

// Row-major strides of a dense tensor.
Strides contiguous_strides(const Shape& shape);

}  // namespace hunch::tensor
