// Shapes: inline arrays of sizes, their text, and the broadcasting rule.
#include "hunch/tensor/shape.h"

#include <algorithm>

#include <fmt/format.h>

#include "hunch/base/check.h"

namespace hunch::tensor {

Shape::Shape(std::initializer_list<int64_t> sizes) {
  for (const int64_t size : sizes) push_back(size);
}

void Shape::push_back(int64_t size) {
  HUNCH_CHECK(rank_ < kMaxRank, "more than eight dimensions");
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(sizes_.begin(), sizes_.begin() + rank_, other.sizes_.begin());
}

int64_t Shape::numel() const {
  int64_t count = 1;
  for (int dim = 0; dim < rank_; ++dim) count *= (*this)[dim];
  return count;
}

std::string Shape::text() const {
  if (rank_ == 0) return "scalar";
  std::string text;
  for (int dim = 0; dim < rank_; ++dim) text += fmt::format("{}{}", dim == 0 ? "" : "x", (*this)[dim]);
  return text;
}

Shape Shape::broadcast(const Shape& a, const Shape& b, bool& ok) {
  Shape out;
  const int rank = std::max(a.rank(), b.rank());
  for (int dim = 0; dim < rank; ++dim) {
    const int in_a = dim - (rank - a.rank());
    const int in_b = dim - (rank - b.rank());
    const int64_t size_a = in_a < 0 ? 1 : a[in_a];
    const int64_t size_b = in_b < 0 ? 1 : b[in_b];
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      ok = false;
      return {};
    }
    out.push_back(size_a == 1 ? size_b : size_a);
  }
  ok = true;
  return out;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    strides[dim] = step;
    step *= shape[dim];
  }
  return strides;
}

}  // namespace hunch::tensor
