// tril on CUDA: row i of a matrix keeps its first i + 1 elements, bit for bit, and is zero behind them; what
// is zeroed is not read. In: x of any strides. Out: a dense result.
#include "hunch/ops/kernels_cuda.h"
#include "hunch/ops/rows.cuh"

namespace hunch::ops::cuda {

// `per_row` packs a row, `height` rows a matrix.
template <class T, int kWidth, bool kWide>
__global__ void __launch_bounds__(kThreads)
    tril(const __grid_constant__ Rows rows, T* const out, FastDivisor per_row, FastDivisor height,
         int64_t packs_in_row, int64_t rows_in_matrix) {
  const Index<kWide> packs = static_cast<Index<kWide>>(rows.count() * packs_in_row);
  const Index<kWide> first = static_cast<Index<kWide>>(blockIdx.x) * (kThreads * kUnroll) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const Index<kWide> index = first + u * kThreads;
    if (index < packs) {
      int64_t row, row_here;
      if constexpr (!kWide) {
        const uint32_t row_of = per_row.divide(index);
        row = row_of;
        row_here = row_of - height.divide(row_of) * height.divisor;
      } else {
        row = static_cast<int64_t>(index) / packs_in_row;
        row_here = row % rows_in_matrix;
      }
      const int64_t column = (static_cast<int64_t>(index) - row * packs_in_row) * kWidth;
      Pack<T, kWidth> pack;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) pack.at[i] = T{};
      if (column <= row_here) {
        load(pack, rows.row(row) + column * (kWidth > 1 ? static_cast<int64_t>(sizeof(T)) : rows.step()));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          if (column + i > row_here) pack.at[i] = T{};
      }
      store(pack, reinterpret_cast<std::byte*>(out) + static_cast<int64_t>(index) * kWidth * sizeof(T));
    }
  }
}

void tril(CudaDevice& cuda, const Tensor& out, const Tensor& x) {
  static constexpr auto kNames = HUNCH_CUDA_KERNEL_NAMES("tril");
  const auto name = kernel_name(kNames, x.dtype());
  if (out.numel() == 0) return;
  const Rows rows(x);
  with_bits(x.dtype(), [&](auto bits) {
    using T = decltype(bits);
    constexpr int kWidth = 16 / sizeof(T);
    constexpr int64_t kBlock = int64_t{kThreads} * kUnroll, kSmall = (int64_t{1} << 31) - kBlock;
    const bool packed = rows.serves(kWidth) && reinterpret_cast<uintptr_t>(out.data()) % 16 == 0 &&
                        out.numel() / kWidth < kSmall;
    const int64_t per_row = rows.length() / (packed ? kWidth : 1), packs = rows.count() * per_row;
    const bool small = packs < kSmall;
    launch_kernel(cuda, name, (packs + kBlock - 1) / kBlock, kThreads,
                  packed  ? &tril<T, kWidth, false>
                  : small ? &tril<T, 1, false>
                          : &tril<T, 1, true>,
                  rows, reinterpret_cast<T*>(out.data()), small ? FastDivisor(per_row) : FastDivisor(),
                  small ? FastDivisor(x.size(-2)) : FastDivisor(), per_row, x.size(-2));
  });
}

}  // namespace hunch::ops::cuda
