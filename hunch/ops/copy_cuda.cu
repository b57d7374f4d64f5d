// Copies on CUDA, bit for bit: a memcpy on the device, and the kernels of a change of layout, which are one
// kernel under two names. Where the input lies across the output's rows they go by tiles.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/tiles.cuh"

namespace hunch::ops::cuda {

template <class T>
struct Same {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  __device__ __forceinline__ T operator()(T x, None, None) const { return x; }
};

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) copy(const __grid_constant__ Strided<2> operands) {
  elementwise<kWidth, kWide>(operands, Same<T>{});
}

template <class T>
__global__ void __launch_bounds__(kThreads) copy_tiles(const __grid_constant__ Tiles tiles, Same<T> op) {
  turn_tile(tiles, op);
}

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads) repeat_heads(const __grid_constant__ Strided<2> operands) {
  elementwise<kWidth, kWide>(operands, Same<T>{});
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    repeat_heads_tiles(const __grid_constant__ Tiles tiles, Same<T> op) {
  turn_tile(tiles, op);
}

void copy(CudaDevice& cuda, const Tensor& out, const Tensor& x, CopyName what) {
  static constexpr auto kCopy = HUNCH_CUDA_KERNEL_NAMES("copy");
  static constexpr auto kRepeat = HUNCH_CUDA_KERNEL_NAMES("repeat_heads");
  const bool plain = what == CopyName::copy;
  const auto name = kernel_name(plain ? kCopy : kRepeat, x.dtype());
  const Strided<2> operands({&out, &x});
  with_bits(x.dtype(), [&](auto bits) {
    using T = decltype(bits);
    if (launch_tiles(cuda, name, operands, plain ? &copy_tiles<T> : &repeat_heads_tiles<T>, Same<T>{}))
      return;
    launch_elementwise<16 / sizeof(T)>(cuda, name, operands, [plain](auto width, auto wide) {
      constexpr int kWidth = decltype(width)::value;
      return plain ? &copy<T, kWidth, decltype(wide)::value>
                   : &repeat_heads<T, kWidth, decltype(wide)::value>;
    });
  });
}

void copy_bytes(CudaDevice& cuda, const Tensor& out, const Tensor& x) {
  base::WorkInfo work;
  work.kind = base::WorkKind::memcpy;
  work.name = "Memcpy DtoD (Device -> Device)";
  work.bytes = x.numel() * static_cast<int64_t>(tensor::size_of(x.dtype()));
  if (work.bytes == 0) return;
  cuda.launch(work, [&](void* stream) {
    return static_cast<int>(cudaMemcpyAsync(out.data(), x.data(), static_cast<std::size_t>(work.bytes),
                                            cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)));
  });
}

}  // namespace hunch::ops::cuda
