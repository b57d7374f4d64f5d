// cast on CUDA: one pass through float, which every dtype fits in; rounded once.
// In: x of any strides; across the result's rows it goes by tiles. Out: a result of another dtype.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/tiles.cuh"

namespace hunch::ops::cuda {
namespace {

#define HUNCH_CUDA_CAST_NAMES(from)                                                       \
  ::std::array<::std::string_view, 4> {                                                   \
    "hunch::ops::cuda::cast<" from ", f32>", "hunch::ops::cuda::cast<" from ", bf16>",    \
        "hunch::ops::cuda::cast<" from ", f16>", "hunch::ops::cuda::cast<" from ", bool>" \
  }
constexpr std::array<std::array<std::string_view, 4>, 4> kNames = {
    HUNCH_CUDA_CAST_NAMES("f32"), HUNCH_CUDA_CAST_NAMES("bf16"), HUNCH_CUDA_CAST_NAMES("f16"),
    HUNCH_CUDA_CAST_NAMES("bool")};

}  // namespace

template <class From, class To>
struct Convert {
  using Out = To;
  using A = From;
  using B = None;
  using C = None;
  __device__ __forceinline__ To operator()(From x, None, None) const { return from_float<To>(to_float(x)); }
};

template <class From, class To, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) cast(const __grid_constant__ Strided<2> operands) {
  elementwise<kWidth, kWide>(operands, Convert<From, To>{});
}

template <class From, class To>
__global__ void __launch_bounds__(kThreads)
    cast_tiles(const __grid_constant__ Tiles tiles, Convert<From, To> op) {
  turn_tile(tiles, op);
}

void cast(CudaDevice& cuda, const Tensor& out, const Tensor& x) {
  const auto name = kernel_name(kNames[static_cast<std::size_t>(x.dtype())], out.dtype());
  const Strided<2> operands({&out, &x});
  with_type(x.dtype(), [&](auto from) {
    with_type(out.dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      HUNCH_CHECK((!std::is_same_v<From, To>), "a cast to another dtype");
      if constexpr (!std::is_same_v<From, To>) {
        if (launch_tiles(cuda, name, operands, &cast_tiles<From, To>, Convert<From, To>{})) return;
        launch_elementwise<16 / std::max(sizeof(From), sizeof(To))>(
            cuda, name, operands, [](auto width, auto wide) {
              return &cast<From, To, decltype(width)::value, decltype(wide)::value>;
            });
      }
    });
  });
}

}  // namespace hunch::ops::cuda
