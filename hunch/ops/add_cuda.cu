// add on CUDA: one pass, in float, rounded once.
// In: a and b of any strides and dtypes, in the result's shape. Out: the wider of the two dtypes.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/strided.cuh"

namespace hunch::ops::cuda {

template <class Result, class Left, class Right>
struct Sum {
  using Out = Result;
  using A = Left;
  using B = Right;
  using C = None;
  __device__ __forceinline__ Out operator()(A a, B b, None) const {
    return from_float<Out>(__fadd_rn(to_float(a), to_float(b)));
  }
};

template <class Out, class A, class B, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) add(const __grid_constant__ Strided<3> operands) {
  elementwise<kWidth, kWide>(operands, Sum<Out, A, B>{});
}

template <class Out, class A, class B>
void launch_add(CudaDevice& cuda, const Tensor& out, const Tensor& a, const Tensor& b) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("add");
  const auto name = kernel_name(kNames, out.dtype());
  launch_elementwise<16 / sizeof(Out)>(cuda, name, Strided<3>({&out, &a, &b}), [](auto width, auto wide) {
    return &add<Out, A, B, decltype(width)::value, decltype(wide)::value>;
  });
}

void add(CudaDevice& cuda, const Tensor& out, const Tensor& a, const Tensor& b) {
  const DType dtype_a = a.dtype(), dtype_b = b.dtype();
  with_type(dtype_a, [&](auto type_a) {
    with_type(dtype_b, [&](auto type_b) {
      using A = decltype(type_a);
      using B = decltype(type_b);
      if constexpr (std::is_same_v<A, B>) {
        if constexpr (!std::is_same_v<A, bool>) return launch_add<A, A, A>(cuda, out, a, b);
      } else if constexpr (std::is_same_v<A, bool>) {
        return launch_add<B, A, B>(cuda, out, a, b);
      } else if constexpr (std::is_same_v<B, bool>) {
        return launch_add<A, A, B>(cuda, out, a, b);
      } else {
        return launch_add<float, A, B>(cuda, out, a, b);
      }
    });
  });
}

}  // namespace hunch::ops::cuda
