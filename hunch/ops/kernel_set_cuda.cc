// The set of the GPU's kernels: each call goes to the function of its file, with the device that holds the
// result.
#include "hunch/ops/kernels.h"

#include "hunch/base/check.h"
#include "hunch/ops/kernels_cuda.h"
#include "hunch/tensor/cuda_device.h"

namespace hunch::ops {
namespace {

tensor::CudaDevice& device_of(const Tensor& tensor) {
  tensor::CudaDevice* const device = tensor.device().as_cuda();
  HUNCH_CHECK(device != nullptr, "a tensor of another device");
  return *device;
}

class CudaKernels final : public Kernels {
 public:
  void add(const Tensor& out, const Tensor& a, const Tensor& b) const override {
    cuda::add(device_of(out), out, a, b);
  }
  void all(const Tensor& out, const Tensor& x) const override { cuda::all(device_of(out), out, x); }
  void cast(const Tensor& out, const Tensor& x) const override { cuda::cast(device_of(out), out, x); }
  void copy(const Tensor& out, const Tensor& x, CopyName what) const override {
    cuda::copy(device_of(out), out, x, what);
  }
  void copy_bytes(const Tensor& out, const Tensor& x) const override {
    cuda::copy_bytes(device_of(out), out, x);
  }
  void fill(const Tensor& out, double value) const override { cuda::fill(device_of(out), out, value); }
  void is_neg_inf(const Tensor& out, const Tensor& x) const override {
    cuda::is_neg_inf(device_of(out), out, x);
  }
  void masked_fill(const Tensor& x, const Tensor& mask, double value) const override {
    cuda::masked_fill(device_of(x), x, mask, value);
  }
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b) const override {
    cuda::matmul(device_of(out), out, a, b);
  }
  void mul(const Tensor& out, const Tensor& x, double factor) const override {
    cuda::mul(device_of(out), out, x, factor);
  }
  void softmax(const Tensor& out, const Tensor& x) const override { cuda::softmax(device_of(out), out, x); }
  void tril(const Tensor& out, const Tensor& x) const override { cuda::tril(device_of(out), out, x); }
  void where(const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) const override {
    cuda::where(device_of(out), out, condition, a, b);
  }
};

}  // namespace

const Kernels& cuda_kernels() {
  static const CudaKernels kKernels;
  return kKernels;
}

}  // namespace hunch::ops
