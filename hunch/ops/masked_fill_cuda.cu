// masked_fill on CUDA, in place: the value's bits where the mask is true. A pack whose mask is false all
// through is neither read nor written, one that is true all through is written without being read: of a
// causal mask that is nearly all, so half of the scores are written and little else moves. Where one mask
// serves many heads, a thread reads its pack of it once and goes through kHeads of them.
//
// In: x of any strides that do not overlap, the mask of any strides. Out: x.
//
// On one H200, 8 x 16 x 1024 x 1024 in bf16 with a causal mask: reading and rewriting all takes 365 us
// (PyTorch), skipping packs 82 us, by heads 62 us; its writes alone would be 33 us at the copy rate.
#include <cstring>

#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/strided.cuh"
#include "hunch/tensor/convert.h"

namespace hunch::ops::cuda {

template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads)
    masked_fill(const __grid_constant__ Strided<2> operands, const T value) {
  const auto packs = static_cast<Index<kWide>>(operands.packs());
  const Index<kWide> first = static_cast<Index<kWide>>(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
  std::byte* at[kUnroll][2];
  Pack<bool, kWidth> mask[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index<kWide> index = first + u * kThreads;
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

constexpr int kHeads = 16;

// The mask is the same along dimension 1: a block takes kThreads packs of dimension 0 and kHeads of that one.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) masked_fill_heads(const __grid_constant__ Strided<2> operands,
                                                              const T value, uint32_t across, uint32_t down) {
  const int64_t pack = int64_t{blockIdx.x % across} * kThreads + threadIdx.x;
  if (pack >= operands.size(0)) return;
  uint32_t rest = blockIdx.x / across;
  const int64_t first = int64_t{rest % down} * kHeads;
  rest /= down;
  std::byte* to = operands.data(0) + pack * operands.step(0, 0) + first * operands.step(1, 0);
  const std::byte* from = operands.data(1) + pack * operands.step(0, 1);
#pragma unroll 1
  for (int dim = 2; dim < operands.rank(); ++dim) {
    const auto size = static_cast<uint32_t>(operands.size(dim));
    to += int64_t{rest % size} * operands.step(dim, 0);
    from += int64_t{rest % size} * operands.step(dim, 1);
    rest /= size;
  }
  Pack<bool, kWidth> mask;
  load(mask, from);
  bool any = false, all = true;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    any = any || mask[i];
    all = all && mask[i];
  }
  if (!any) return;
  const int heads = static_cast<int>(min(int64_t{kHeads}, operands.size(1) - first));
  Pack<T, kWidth> out;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) out.at[i] = value;
#pragma unroll 4
  for (int head = 0; head < heads; ++head, to += operands.step(1, 0)) {
    if (!all) {
      Pack<T, kWidth> before;
      load(before, to);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) out.at[i] = mask[i] ? value : before.at[i];
    }
    store(out, to);
  }
}

// Whether it serves; if so, launched.
template <class T>
bool launch_heads(CudaDevice& cuda, std::string_view name, Strided<2> operands, T value) {
  constexpr int kWidth = 16 / sizeof(T);
  constexpr int64_t kWorthwhile = 4;
  if (operands.numel() == 0 || operands.rank() < 2 || !operands.serves(kWidth)) return false;
  if (operands.step(0, 1) == 0 || operands.step(1, 1) != 0 || operands.size(1) < kWorthwhile) return false;
  operands.in_packs(kWidth);
  const int64_t across = (operands.size(0) + kThreads - 1) / kThreads;
  const int64_t down = (operands.size(1) + kHeads - 1) / kHeads;
  int64_t blocks = across * down;
  for (int dim = 2; dim < operands.rank(); ++dim) blocks *= operands.size(dim);
  if (blocks >= int64_t{1} << 31) return false;
  launch_kernel(cuda, name, blocks, kThreads, &masked_fill_heads<T, kWidth>, operands, value,
                static_cast<uint32_t>(across), static_cast<uint32_t>(down));
  return true;
}

void masked_fill(CudaDevice& cuda, const Tensor& x, const Tensor& mask, double value) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("masked_fill");
  const auto name = kernel_name(kNames, x.dtype());
  const Strided<2> operands({&x, &mask});
  const auto wide = static_cast<float>(value);
  std::array<std::byte, 4> raw = {};
  tensor::narrow(x.dtype(), &wide, 1, raw.data());
  with_bits(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    T bits;
    std::memcpy(&bits, raw.data(), sizeof bits);
    if (launch_heads<T>(cuda, name, operands, bits)) return;
    launch_elementwise<16 / sizeof(T)>(
        cuda, name, operands,
        [](auto width, auto wide) { return &masked_fill<T, decltype(width)::value, decltype(wide)::value>; },
        bits);
  });
}

}  // namespace hunch::ops::cuda
