// Tensors: views are arithmetic on sizes and strides; only from_floats and to_* touch elements, and both go
// through the device's upload and download, so that they hold for any device.
#include "hunch/tensor/tensor.h"

#include <algorithm>

#include <fmt/format.h>

#include "hunch/base/check.h"
#include "hunch/tensor/convert.h"

namespace hunch::tensor {
namespace {

int normal_dim(int dim, int rank) {
  HUNCH_CHECK(dim >= -rank && dim < rank, "no such dimension");
  return dim < 0 ? dim + rank : dim;
}

// Elements from the first to the last that the view can touch, both included.
int64_t reach(const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (int dim = 0; dim < shape.rank(); ++dim) last += (shape[dim] - 1) * strides[dim];
  return last + 1;
}

}  // namespace

Buffer::Buffer(Device& device, std::size_t bytes)
    : device_(device), data_(device.allocate(bytes)), bytes_(bytes) {}
Buffer::Buffer(Device& device, void* data, std::size_t bytes, std::shared_ptr<void> owner)
    : device_(device), data_(data), bytes_(bytes), owner_(std::move(owner)) {}
Buffer::~Buffer() {
  if (owner_ == nullptr) device_.release(data_, bytes_);
}

Tensor Tensor::empty(Device& device, DType dtype, const Shape& shape) {
  for (int dim = 0; dim < shape.rank(); ++dim) HUNCH_CHECK(shape[dim] >= 0, "a negative size");
  Tensor tensor;
  tensor.buffer_ = std::make_shared<Buffer>(device, static_cast<std::size_t>(shape.numel()) * size_of(dtype));
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.strides_ = contiguous_strides(shape);
  return tensor;
}

Tensor Tensor::from_floats(Device& device, DType dtype, const Shape& shape, std::span<const float> values) {
  HUNCH_CHECK(static_cast<int64_t>(values.size()) == shape.numel(),
              "as many values as the shape has elements");
  Tensor tensor = empty(device, dtype, shape);
  if (values.empty()) return tensor;
  std::vector<std::byte> packed(values.size() * size_of(dtype));
  narrow(dtype, values.data(), shape.numel(), packed.data());
  device.upload(tensor.data(), packed.data(), packed.size());
  return tensor;
}

Tensor Tensor::borrow(Device& device, DType dtype, const Shape& shape, const Strides& strides, void* data,
                      std::shared_ptr<void> owner) {
  HUNCH_CHECK(owner != nullptr, "borrowed memory has an owner");
  Tensor tensor;
  const int64_t elements = shape.numel() == 0 ? 0 : reach(shape, strides);
  tensor.buffer_ = std::make_shared<Buffer>(device, data, static_cast<std::size_t>(elements) * size_of(dtype),
                                            std::move(owner));
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.strides_ = strides;
  return tensor;
}

bool Tensor::is_contiguous() const {
  int64_t step = 1;
  if (numel() == 0) return true;
  for (int dim = rank() - 1; dim >= 0; --dim) {
    if (size(dim) == 1) continue;
    if (stride(dim) != step) return false;
    step *= size(dim);
  }
  return true;
}

Tensor Tensor::transpose(int a, int b) const {
  Tensor out = *this;
  a = normal_dim(a, rank());
  b = normal_dim(b, rank());
  std::swap(out.shape_[a], out.shape_[b]);
  std::swap(out.strides_[a], out.strides_[b]);
  return out;
}

Tensor Tensor::expand(const Shape& shape) const {
  HUNCH_CHECK(shape.rank() >= rank(), "expand to fewer dimensions");
  Tensor out = *this;
  out.shape_ = shape;
  out.strides_ = shape;
  const int extra = shape.rank() - rank();
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const int from = dim - extra;
    const bool same = from >= 0 && size(from) == shape[dim];
    HUNCH_CHECK(same || from < 0 || size(from) == 1, "expand a dimension whose size is not 1");
    out.strides_[dim] = same ? stride(from) : 0;
  }
  return out;
}

Tensor Tensor::slice(int dim, int64_t start, int64_t end, int64_t step) const {
  dim = normal_dim(dim, rank());
  HUNCH_CHECK(step >= 1 && start >= 0 && start <= end && end <= size(dim), "a slice within the dimension");
  Tensor out = *this;
  out.shape_[dim] = (end - start + step - 1) / step;
  out.strides_[dim] = stride(dim) * step;
  // An empty slice at the end would point behind the buffer.
  if (out.numel() > 0) out.offset_bytes_ += start * stride(dim) * static_cast<int64_t>(size_of(dtype_));
  return out;
}

Tensor Tensor::view(const Shape& shape) const {
  HUNCH_CHECK(is_contiguous(), "view of a tensor that is not contiguous");
  HUNCH_CHECK(shape.numel() == numel(), "view with another number of elements");
  Tensor out = *this;
  out.shape_ = shape;
  out.strides_ = contiguous_strides(shape);
  return out;
}

Tensor Tensor::unsqueeze(int dim) const {
  HUNCH_CHECK(dim >= -rank() - 1 && dim <= rank(), "no such dimension");
  if (dim < 0) dim += rank() + 1;
  Tensor out = *this;
  out.shape_ = {};
  out.strides_ = {};
  for (int from = 0; from <= rank(); ++from) {
    if (from == dim) {
      out.shape_.push_back(1);
      out.strides_.push_back(from < rank() ? size(from) * stride(from) : 1);
    }
    if (from < rank()) {
      out.shape_.push_back(size(from));
      out.strides_.push_back(stride(from));
    }
  }
  return out;
}

std::vector<float> Tensor::to_floats() const {
  std::vector<float> values(static_cast<std::size_t>(numel()));
  if (values.empty()) return values;
  const int64_t elements = reach(shape_, strides_);
  std::vector<std::byte> raw(static_cast<std::size_t>(elements) * size_of(dtype_));
  device().download(raw.data(), data(), raw.size());
  if (is_contiguous()) {
    widen(dtype_, raw.data(), numel(), values.data());
    return values;
  }
  std::vector<float> wide(static_cast<std::size_t>(elements));
  widen(dtype_, raw.data(), elements, wide.data());
  Shape at = shape_;  // the running index
  for (int dim = 0; dim < rank(); ++dim) at[dim] = 0;
  int64_t offset = 0;
  for (float& value : values) {
    value = wide[static_cast<std::size_t>(offset)];
    for (int dim = rank() - 1; dim >= 0; --dim) {
      offset += stride(dim);
      if (++at[dim] < size(dim)) break;
      offset -= size(dim) * stride(dim);
      at[dim] = 0;
    }
  }
  return values;
}

std::vector<double> Tensor::to_doubles() const {
  const std::vector<float> values = to_floats();
  return {values.begin(), values.end()};
}

std::string dims_text(std::initializer_list<const Tensor*> tensors) {
  std::string text = "[";
  for (const Tensor* tensor : tensors) {
    if (text.size() > 1) text += ',';
    text += '[';
    for (int dim = 0; dim < tensor->rank(); ++dim)
      text += fmt::format("{}{}", dim == 0 ? "" : ",", tensor->size(dim));
    text += ']';
  }
  return text + ']';
}

}  // namespace hunch::tensor
