// mul on CUDA: one pass, in float, rounded once.
// In: x of any strides; across the result's rows it goes by tiles. Out: a result of its dtype.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/tiles.cuh"

namespace hunch::ops::cuda {

template <class T>
struct Scale {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  float factor;
  __device__ __forceinline__ T operator()(T x, None, None) const {
    return from_float<T>(__fmul_rn(to_float(x), factor));
  }
};

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) mul(const __grid_constant__ Strided<2> operands, Scale<T> op) {
  elementwise<kWidth, kWide>(operands, op);
}

template <class T>
__global__ void __launch_bounds__(kThreads) mul_tiles(const __grid_constant__ Tiles tiles, Scale<T> op) {
  turn_tile(tiles, op);
}

void mul(CudaDevice& cuda, const Tensor& out, const Tensor& x, double factor) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("mul");
  const auto name = kernel_name(kNames, x.dtype());
  const Strided<2> operands({&out, &x});
  with_float_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const Scale<T> op{static_cast<float>(factor)};
    if (launch_tiles(cuda, name, operands, &mul_tiles<T>, op)) return;
    launch_elementwise<16 / sizeof(T)>(
        cuda, name, operands,
        [](auto width, auto wide) { return &mul<T, decltype(width)::value, decltype(wide)::value>; }, op);
  });
}

}  // namespace hunch::ops::cuda
