// where on CUDA: bits of a or of b, in one pass. In: three inputs of any strides in the result's shape.
// Out: a result of a's and b's dtype.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/strided.cuh"

namespace hunch::ops::cuda {

template <class T>
struct Choose {
  using Out = T;
  using A = bool;
  using B = T;
  using C = T;
  __device__ __forceinline__ T operator()(bool condition, T a, T b) const { return condition ? a : b; }
};

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) where(const __grid_constant__ Strided<4> operands) {
  elementwise<kWidth, kWide>(operands, Choose<T>{});
}

void where(CudaDevice& cuda, const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("where");
  const auto name = kernel_name(kNames, out.dtype());
  with_bits(out.dtype(), [&](auto bits) {
    using T = decltype(bits);
    launch_elementwise<16 / sizeof(T)>(
        cuda, name, Strided<4>({&out, &condition, &a, &b}),
        [](auto width, auto wide) { return &where<T, decltype(width)::value, decltype(wide)::value>; });
  });
}

}  // namespace hunch::ops::cuda
