// The seam between ops and devices: the kernels that ops launch, one virtual function each, and the set of
// each kind of device. A new kind of device is one more set; a new op one more function, and a file a device.
//
// Each launches exactly one kernel (copy_bytes one memcpy), or nothing where the result is empty. Tensors
// are already broadcast (expanded) to the result's shape, results are allocated, all lie on the device of the
// first; a launch keeps raw pointers only, as stream-ordered freeing wants it.
#pragma once

#include "hunch/ops/ops.h"

namespace hunch::ops {

enum class CopyName { copy, repeat_heads };  // what a strided copy is for, and so what its kernel is called

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual void add(const Tensor& out, const Tensor& a, const Tensor& b) const = 0;
  virtual void all(const Tensor& out, const Tensor& x) const = 0;
  virtual void cast(const Tensor& out, const Tensor& x) const = 0;
  // The same dtype, any strides on both sides.
  virtual void copy(const Tensor& out, const Tensor& x, CopyName what) const = 0;
  // Both dense, same dtype and size: a memcpy rather than a kernel.
  virtual void copy_bytes(const Tensor& out, const Tensor& x) const = 0;
  virtual void fill(const Tensor& out, double value) const = 0;
  virtual void is_neg_inf(const Tensor& out, const Tensor& x) const = 0;
  virtual void masked_fill(const Tensor& x, const Tensor& mask, double value) const = 0;
  virtual void matmul(const Tensor& out, const Tensor& a, const Tensor& b) const = 0;
  virtual void mul(const Tensor& out, const Tensor& x, double factor) const = 0;
  virtual void softmax(const Tensor& out, const Tensor& x) const = 0;
  virtual void tril(const Tensor& out, const Tensor& x) const = 0;
  virtual void where(const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) const = 0;
};

const Kernels& kernels_of(const Device& device);

// The sets. cuda_kernels is there in builds with CUDA only.
const Kernels& cpu_kernels();
const Kernels& cuda_kernels();

}  // namespace hunch::ops
