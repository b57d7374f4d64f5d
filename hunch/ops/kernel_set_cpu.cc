// The set of the CPU's kernels: each call goes to the function of its file, with the device that holds the
// result.
#include "hunch/ops/kernels.h"

#include "hunch/base/check.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::ops {
namespace {

tensor::CpuDevice& device_of(const Tensor& tensor) {
  tensor::CpuDevice* const device = tensor.device().as_cpu();
  HUNCH_CHECK(device != nullptr, "a tensor of another device");
  return *device;
}

class CpuKernels final : public Kernels {
 public:
  void add(const Tensor& out, const Tensor& a, const Tensor& b) const override {
    cpu::add(device_of(out), out, a, b);
  }
  void all(const Tensor& out, const Tensor& x) const override { cpu::all(device_of(out), out, x); }
  void cast(const Tensor& out, const Tensor& x) const override { cpu::cast(device_of(out), out, x); }
  void copy(const Tensor& out, const Tensor& x, CopyName what) const override {
    cpu::copy(device_of(out), out, x, what);
  }
  void copy_bytes(const Tensor& out, const Tensor& x) const override {
    cpu::copy_bytes(device_of(out), out, x);
  }
  void fill(const Tensor& out, double value) const override { cpu::fill(device_of(out), out, value); }
  void is_neg_inf(const Tensor& out, const Tensor& x) const override {
    cpu::is_neg_inf(device_of(out), out, x);
  }
  void masked_fill(const Tensor& x, const Tensor& mask, double value) const override {
    cpu::masked_fill(device_of(x), x, mask, value);
  }
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b) const override {
    cpu::matmul(device_of(out), out, a, b);
  }
  void mul(const Tensor& out, const Tensor& x, double factor) const override {
    cpu::mul(device_of(out), out, x, factor);
  }
  void softmax(const Tensor& out, const Tensor& x) const override { cpu::softmax(device_of(out), out, x); }
  void tril(const Tensor& out, const Tensor& x) const override { cpu::tril(device_of(out), out, x); }
  void where(const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) const override {
    cpu::where(device_of(out), out, condition, a, b);
  }
};

}  // namespace

const Kernels& cpu_kernels() {
  static const CpuKernels kKernels;
  return kKernels;
}

}  // namespace hunch::ops
