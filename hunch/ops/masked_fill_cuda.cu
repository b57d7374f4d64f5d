// masked_fill on CUDA, in place: the value's bits where the mask is true. A pack whose mask is false all
// through is neither read nor written, one that is true all through is written without being read: of a
// causal mask that is nearly all, so half of the scores are written and little else moves.
//
// In: x of any strides that do not overlap, the mask of any strides. Out: x.
#include <cstring>

#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/strided.cuh"
#include "hunch/tensor/convert.h"

namespace hunch::ops::cuda {

template <class T, int kWidth, class Index>
__global__ void __launch_bounds__(kThreads)
    masked_fill(const __grid_constant__ Strided<2> operands, const T value) {
  const auto packs = static_cast<Index>(operands.packs());
  const Index first = static_cast<Index>(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
  std::byte* at[kUnroll][2];
  Pack<bool, kWidth> mask[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index index = first + u * kThreads;
    if (index < packs) {
      operands.locate(index, at[u]);
      load(mask[u], at[u][1], operands.broadcast(1));
    }
  }
  Pack<T, kWidth> out[kUnroll];
  bool any[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    any[u] = false;
    if (first + u * kThreads < packs) {
      bool all = true;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        any[u] = any[u] || mask[u][i];
        all = all && mask[u][i];
      }
      if (any[u] && !all) load(out[u], at[u][0]);
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (any[u]) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        if (mask[u][i]) out[u].at[i] = value;
      store(out[u], at[u][0]);
    }
  // What is less than a pack at the end of a single row.
  if (kWidth > 1 && blockIdx.x == 0 && threadIdx.x < operands.tail()) {
    operands.locate(packs, at[0]);
    const std::byte* hidden = at[0][1] + (operands.broadcast(1) ? 0 : threadIdx.x);
    if (*hidden != std::byte{0}) reinterpret_cast<T*>(at[0][0])[threadIdx.x] = value;
  }
}

void masked_fill(CudaDevice& cuda, const Tensor& x, const Tensor& mask, double value) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("masked_fill");
  const auto name = kernel_name(kNames, x.dtype());
  const auto wide = static_cast<float>(value);
  std::array<std::byte, 4> raw = {};
  tensor::narrow(x.dtype(), &wide, 1, raw.data());
  with_bits(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    T bits;
    std::memcpy(&bits, raw.data(), sizeof bits);
    launch_elementwise<16 / sizeof(T)>(
        cuda, name, Strided<2>({&x, &mask}),
        [](auto width, auto index) { return &masked_fill<T, decltype(width)::value, decltype(index)>; },
        bits);
  });
}

}  // namespace hunch::ops::cuda
