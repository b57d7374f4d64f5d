// Tensor: a strided view of a shared buffer on a device. Copies of a Tensor share memory; transpose,
// expand, slice and view make views and move no data. Elements are read on the host only after
// Device::synchronize (to_floats and to_doubles do that themselves).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hunch/tensor/device.h"
#include "hunch/tensor/dtype.h"
#include "hunch/tensor/shape.h"

namespace hunch::tensor {

// Memory of one device; what it allocates is accounted there from construction to destruction.
class Buffer {
 public:
  Buffer(Device& device, std::size_t bytes);
  // Memory on the device that someone else allocated, accounts, and frees when `owner` goes.
  Buffer(Device& device, void* data, std::size_t bytes, std::shared_ptr<void> owner);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }
  Device& device() const { return device_; }

 private:
  Device& device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<void> owner_;  // of borrowed memory
};

class Tensor {
 public:
  Tensor() = default;  // undefined: defined() is false

  // Uninitialised, contiguous.
  static Tensor empty(Device& device, DType dtype, const Shape& shape);
  // From host values, rounded to `dtype`; values.size() == shape.numel(). Unrecorded.
  static Tensor from_floats(Device& device, DType dtype, const Shape& shape, std::span<const float> values);

  // Another library's memory on the device, in its layout; `owner` keeps it alive as long as any view of it.
  static Tensor borrow(Device& device, DType dtype, const Shape& shape, const Strides& strides, void* data,
                       std::shared_ptr<void> owner);

  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  int64_t size(int dim) const { return shape_[dim]; }
  int64_t stride(int dim) const { return strides_[dim]; }
  int64_t numel() const { return shape_.numel(); }
  bool is_contiguous() const;
  Device& device() const { return buffer_->device(); }
  std::byte* data() const { return buffer_->data() + offset_bytes_; }

  // Views. Dimensions may be negative. Each checks its arguments: a wrong one is a bug of the caller.
  Tensor transpose(int a, int b) const;
  Tensor expand(const Shape& shape) const;  // broadcast dimensions get stride 0
  Tensor slice(int dim, int64_t start, int64_t end, int64_t step = 1) const;
  Tensor view(const Shape& shape) const;  // contiguous only, same numel
  Tensor unsqueeze(int dim) const;

  // Row-major host copies of all elements, widened; synchronizes.
  std::vector<float> to_floats() const;
  std::vector<double> to_doubles() const;

 private:
  std::shared_ptr<Buffer> buffer_;
  DType dtype_ = DType::f32;
  Shape shape_;
  Strides strides_;
  int64_t offset_bytes_ = 0;
};

// "[[8,16,1024,64],[8,16,64,1024]]", for a span's input shapes.
std::string dims_text(std::initializer_list<const Tensor*> tensors);

}  // namespace hunch::tensor
