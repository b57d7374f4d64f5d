// fill on CUDA: the value's bits, over and over. In: nothing. Out: a tensor of any strides, in one pass of
// writes.
#include <cstring>

#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/strided.cuh"
#include "hunch/tensor/convert.h"

namespace hunch::ops::cuda {

template <class T>
struct Constant {
  using Out = T;
  using A = None;
  using B = None;
  using C = None;
  T bits;
  __device__ __forceinline__ T operator()(None, None, None) const { return bits; }
};

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads)
    fill(const __grid_constant__ Strided<1> operands, Constant<T> op) {
  elementwise<kWidth, kWide>(operands, op);
}

void fill(CudaDevice& cuda, const Tensor& out, double value) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("fill");
  const auto name = kernel_name(kNames, out.dtype());
  const auto wide = static_cast<float>(value);
  std::array<std::byte, 4> raw = {};
  tensor::narrow(out.dtype(), &wide, 1, raw.data());
  with_bits(out.dtype(), [&](auto bits) {
    using T = decltype(bits);
    Constant<T> op;
    std::memcpy(&op.bits, raw.data(), sizeof(T));
    launch_elementwise<16 / sizeof(T)>(
        cuda, name, Strided<1>({&out}),
        [](auto width, auto wide) { return &fill<T, decltype(width)::value, decltype(wide)::value>; }, op);
  });
}

}  // namespace hunch::ops::cuda
