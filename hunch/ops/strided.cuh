// Elementwise kernels on the device: one pass over all elements of an output, with broadcast and strided
// inputs beside it. What an op's file adds is a functor and a kernel of the op's name around elementwise().
//
// The host puts dimensions into the order of the output's memory and merges those that lie dense in every
// operand. If the innermost one then is dense (or broadcast) and aligned everywhere, threads move packs of 16
// bytes of the widest operand; else single elements, neighbours by neighbours. A thread handles kUnroll
// packs, a block's width apart, all loaded before the first is used. Positions cost one multiplication a
// dimension.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "hunch/base/check.h"
#include "hunch/ops/elements.cuh"
#include "hunch/tensor/cuda_device.h"
#include "hunch/tensor/tensor.h"

namespace hunch::ops::cuda {

constexpr int kThreads = 256;
constexpr int kUnroll = 4;

template <int kWidth>
using Width = std::integral_constant<int, kWidth>;

// A position in packs: 32 bits where there are fewer than 2^31, else (kWide) 64.
template <bool kWide>
using Index = std::conditional_t<kWide, uint64_t, uint32_t>;

// Positions in N operands of one shape; operand 0 is the output. Dimension 0 is the innermost.
template <int N>
class Strided {
 public:
  static constexpr int kMaxRank = tensor::Shape::kMaxRank;

  // Dimensions of size 1 go, the others are ordered by the output's strides.
  explicit Strided(const std::array<const tensor::Tensor*, N>& operands) {
    const tensor::Shape& shape = operands[0]->shape();
    numel_ = shape.numel();
    for (int k = 0; k < N; ++k) {
      data_[k] = operands[k]->data();
      element_[k] = static_cast<int64_t>(tensor::size_of(operands[k]->dtype()));
    }
    for (int dim = shape.rank() - 1; dim >= 0; --dim) {
      if (shape[dim] == 1) continue;
      int at = rank_++;
      for (; at > 0 && step_[at - 1][0] > operands[0]->stride(dim) * element_[0]; --at) {
        size_[at] = size_[at - 1];
        for (int k = 0; k < N; ++k) step_[at][k] = step_[at - 1][k];
      }
      size_[at] = shape[dim];
      for (int k = 0; k < N; ++k) step_[at][k] = operands[k]->stride(dim) * element_[k];
    }
    merge();
    if (rank_ == 0) {  // one element
      rank_ = 1;
      size_[0] = 1;
      for (int k = 0; k < N; ++k) step_[0][k] = element_[k];
    }
  }

  int64_t numel() const { return numel_; }
  __host__ __device__ int rank() const { return rank_; }
  __host__ __device__ int64_t size(int dim) const { return size_[dim]; }
  __host__ __device__ int64_t step(int dim, int k) const { return step_[dim][k]; }

  // Whether packs of `width` elements serve; a single row may end in less than a pack.
  bool serves(int width) const {
    if (size_[0] < width || (rank_ > 1 && size_[0] % width != 0)) return false;
    for (int k = 0; k < N; ++k) {
      if (step_[0][k] == 0 && k > 0) continue;
      if (step_[0][k] != element_[k]) return false;
      const int64_t access = std::min<int64_t>(16, width * element_[k]);
      if (reinterpret_cast<uintptr_t>(data_[k]) % access != 0) return false;
      for (int dim = 1; dim < rank_; ++dim)
        if (step_[dim][k] % access != 0) return false;
    }
    return true;
  }

  // From here on, positions count packs of `width` elements. Needs serves(width), or a width of 1.
  void in_packs(int width) {
    tail_ = static_cast<int>(size_[0] % width);
    size_[0] /= width;
    for (int k = 0; k < N; ++k) step_[0][k] *= width;
    packs_ = numel_ / width;
    for (int dim = 0; dim < rank_; ++dim)
      if (size_[dim] < int64_t{1} << 31) divisor_[dim] = FastDivisor(size_[dim]);
  }

  __host__ __device__ std::byte* data(int k) const { return data_[k]; }
  __host__ __device__ int64_t element(int k) const { return element_[k]; }
  __host__ __device__ int64_t packs() const { return packs_; }
  __device__ __forceinline__ int tail() const { return tail_; }
  __device__ __forceinline__ bool broadcast(int k) const { return step_[0][k] == 0; }

  // The pointers of all operands at pack `index`, an Index.
  template <class Position>
  __device__ __forceinline__ void locate(Position index, std::byte* (&at)[N]) const {
#pragma unroll
    for (int k = 0; k < N; ++k) at[k] = data_[k];
#pragma unroll 1
    for (int dim = 0; dim + 1 < rank_; ++dim) {
      Position next;
      if constexpr (sizeof(Position) == 4)
        next = divisor_[dim].divide(index);
      else
        next = index / static_cast<Position>(size_[dim]);
      const auto here = static_cast<int64_t>(index - next * static_cast<Position>(size_[dim]));
#pragma unroll
      for (int k = 0; k < N; ++k) at[k] += here * step_[dim][k];
      index = next;
    }
#pragma unroll
    for (int k = 0; k < N; ++k) at[k] += static_cast<int64_t>(index) * step_[rank_ - 1][k];
  }

 private:
  void merge() {
    int kept = 0;
    for (int dim = 1; dim < rank_; ++dim) {
      bool dense = true;
      for (int k = 0; k < N; ++k) dense = dense && step_[dim][k] == step_[kept][k] * size_[kept];
      if (dense) {
        size_[kept] *= size_[dim];
        continue;
      }
      ++kept;
      size_[kept] = size_[dim];
      for (int k = 0; k < N; ++k) step_[kept][k] = step_[dim][k];
    }
    rank_ = rank_ == 0 ? 0 : kept + 1;
  }

  std::byte* data_[N] = {};
  int64_t element_[N] = {};  // bytes
  int64_t numel_ = 0, packs_ = 0;
  int rank_ = 0, tail_ = 0;
  int64_t size_[kMaxRank] = {};
  int64_t step_[kMaxRank][N] = {};  // bytes
  FastDivisor divisor_[kMaxRank];
};

// op(a, b, c) for every element. Op names its types: Out, A, B and C, None where it has fewer inputs.
template <int kWidth, bool kWide, class Op, int N>
__device__ __forceinline__ void elementwise(const Strided<N>& operands, const Op& op) {
  using A = typename Op::A;
  using B = typename Op::B;
  using C = typename Op::C;
  const auto packs = static_cast<Index<kWide>>(operands.packs());
  const Index<kWide> first = static_cast<Index<kWide>>(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
  std::byte* at[kUnroll][N];
  Pack<A, kWidth> a[kUnroll];
  Pack<B, kWidth> b[kUnroll];
  Pack<C, kWidth> c[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index<kWide> index = first + u * kThreads;
    if (index < packs) {
      operands.locate(index, at[u]);
      if constexpr (N > 1) load(a[u], at[u][1], operands.broadcast(1));
      if constexpr (N > 2) load(b[u], at[u][2], operands.broadcast(2));
      if constexpr (N > 3) load(c[u], at[u][3], operands.broadcast(3));
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (first + u * kThreads < packs) {
      Pack<typename Op::Out, kWidth> out;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) out.at[i] = op(a[u][i], b[u][i], c[u][i]);
      store(out, at[u][0]);
    }
  }
  // What is less than a pack at the end of a single row.
  if (kWidth > 1 && blockIdx.x == 0 && threadIdx.x < operands.tail()) {
    operands.locate(packs, at[0]);
    const auto ahead = [&](int k) {
      return at[0][k] + (operands.broadcast(k) ? 0 : threadIdx.x * operands.element(k));
    };
    Pack<A, 1> last_a;
    Pack<B, 1> last_b;
    Pack<C, 1> last_c;
    if constexpr (N > 1) load(last_a, ahead(1));
    if constexpr (N > 2) load(last_b, ahead(2));
    if constexpr (N > 3) load(last_c, ahead(3));
    Pack<typename Op::Out, 1> out;
    out.at[0] = op(last_a[0], last_b[0], last_c[0]);
    store(out, ahead(0));
  }
}

// A kernel's launch as one piece of work. `arguments` are the kernel's.
template <class Kernel, class... Arguments>
void launch_kernel(tensor::CudaDevice& cuda, std::string_view name, int64_t blocks, int threads,
                   Kernel* kernel, const Arguments&... arguments) {
  HUNCH_CHECK(blocks > 0 && blocks < int64_t{1} << 31, "a grid of up to 2^31 blocks");
  base::WorkInfo work;
  work.kind = base::WorkKind::kernel;
  work.name = name;
  work.grid = {static_cast<uint32_t>(blocks), 1, 1};
  work.block = {static_cast<uint32_t>(threads), 1, 1};
  work.shared_bytes = 0;
  cuda.launch(work, [&](void* stream) {
    kernel<<<work.grid[0], work.block[0], 0, static_cast<cudaStream_t>(stream)>>>(arguments...);
    return static_cast<int>(cudaGetLastError());
  });
}

// Launches pick(width, wide), a kernel for packs of that width with positions of that kind, over all of
// the operands' elements. Packs are for less than 2^31 of them (32 GiB); beyond, elements go one by one.
template <int kWidth, int N, class Pick, class... Arguments>
void launch_elementwise(tensor::CudaDevice& cuda, std::string_view name, Strided<N> operands,
                        const Pick& pick, const Arguments&... arguments) {
  if (operands.numel() == 0) return;
  constexpr int64_t kBlock = int64_t{kThreads} * kUnroll;
  constexpr int64_t kSmall = (int64_t{1} << 31) - kBlock;
  const bool packed = operands.serves(kWidth) && operands.numel() / kWidth < kSmall;
  operands.in_packs(packed ? kWidth : 1);
  const int64_t blocks = (operands.packs() + kBlock - 1) / kBlock;
  const auto go = [&](auto* kernel) {
    launch_kernel(cuda, name, blocks, kThreads, kernel, operands, arguments...);
  };
  if (packed) return go(pick(Width<kWidth>{}, std::false_type{}));
  if (operands.packs() < kSmall) return go(pick(Width<1>{}, std::false_type{}));
  go(pick(Width<1>{}, std::true_type{}));
}

// The names of kernel `op` for every dtype, as a recording without the driver's own names has them.
#define HUNCH_CUDA_KERNEL_NAMES(op)                                                                     \
  ::std::array<::std::string_view, 4> {                                                                 \
    "hunch::ops::cuda::" op "<f32>", "hunch::ops::cuda::" op "<bf16>", "hunch::ops::cuda::" op "<f16>", \
        "hunch::ops::cuda::" op "<bool>"                                                                \
  }
inline std::string_view kernel_name(const std::array<std::string_view, 4>& names, tensor::DType dtype) {
  return names[static_cast<std::size_t>(dtype)];
}

}  // namespace hunch::ops::cuda
