// is_neg_inf on CUDA: one pass. In: x of any strides. Out: a byte an element, 1 where x is -inf.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/strided.cuh"

namespace hunch::ops::cuda {

template <class T>
struct IsNegInf {
  using Out = bool;
  using A = T;
  using B = None;
  using C = None;
  __device__ __forceinline__ bool operator()(T x, None, None) const { return to_float(x) == -INFINITY; }
};

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) is_neg_inf(const __grid_constant__ Strided<2> operands) {
  elementwise<kWidth, kWide>(operands, IsNegInf<T>{});
}

void is_neg_inf(CudaDevice& cuda, const Tensor& out, const Tensor& x) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("is_neg_inf");
  const auto name = kernel_name(kNames, x.dtype());
  with_float_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    launch_elementwise<16 / sizeof(T)>(cuda, name, Strided<2>({&out, &x}), [](auto width, auto wide) {
      return &is_neg_inf<T, decltype(width)::value, decltype(wide)::value>;
    });
  });
}

}  // namespace hunch::ops::cuda
