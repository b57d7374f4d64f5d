// Copies on the CPU, bit for bit: a memcpy shared by the workers, and a strided copy kernel.
// Where a kernel's input runs across the output's rows (a transpose), reading it run by run would use one
// element of each cache line; such a copy goes in square blocks instead, so that lines are used whole.
#include <algorithm>

#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {
namespace {

constexpr int64_t kMemcpyPiece = int64_t{256} << 10;  // bytes

// Whether some dimension but the last is the one along which the input lies dense.
int dense_dim(const Tensor& x) {
  for (int dim = x.rank() - 2; dim >= 0; --dim)
    if (x.size(dim) > 1 && x.stride(dim) == 1) return dim;
  return -1;
}

// Turns one block by way of a dense scratch: a large power of two between the input's lines would put them
// all into the same few sets of the first cache, where they push each other out before they are used up.
constexpr int64_t kBlock = 32;  // 32 x 32 elements

template <class T>
void copy_block(std::byte* to, int64_t to_row, int64_t to_column, const std::byte* from, int64_t from_column,
                int64_t rows, int64_t columns) {
  std::array<T, kBlock * kBlock> scratch;
  for (int64_t column = 0; column < columns; ++column)
    std::memcpy(scratch.data() + column * kBlock, from + column * from_column,
                static_cast<std::size_t>(rows) * sizeof(T));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      *reinterpret_cast<T*>(to + row * to_row + column * to_column) =
          scratch[static_cast<std::size_t>(column * kBlock + row)];
}

// Dimension `dim` of the input is dense, the last one is not: blocks of both, all other dimensions outside.
template <class T>
void copy_transposed(CpuDevice& cpu, std::string_view name, const Tensor& out, const Tensor& x, int dim) {
  constexpr int64_t kBlocks = 16;  // a tile, side by side
  const int last = x.rank() - 1;
  const int64_t rows = x.size(dim), columns = x.size(last);
  const int64_t down = (rows + kBlock - 1) / kBlock;
  const int64_t across = (columns + kBlock * kBlocks - 1) / (kBlock * kBlocks);
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  tensor::Shape outer;
  tensor::Strides outer_to, outer_from;
  for (int d = 0; d < last; ++d) {
    if (d == dim) continue;
    outer.push_back(x.size(d));
    outer_to.push_back(out.stride(d) * kSize);
    outer_from.push_back(x.stride(d) * kSize);
  }
  std::byte* to_data = out.data();
  const std::byte* from_data = x.data();
  const int64_t to_row = out.stride(dim) * kSize, to_column = out.stride(last) * kSize;
  const int64_t from_column = x.stride(last) * kSize;  // and its rows are dense
  launch_tiles(cpu, name, outer.numel() * down * across, [=](int64_t index, int) {
    std::byte* to = to_data;
    const std::byte* from = from_data;
    const int64_t column_start = index % across * kBlock * kBlocks;
    const int64_t row_start = index / across % down * kBlock;
    int64_t rest = index / across / down;
    for (int d = outer.rank() - 1; d >= 0; --d) {
      to += rest % outer[d] * outer_to[d];
      from += rest % outer[d] * outer_from[d];
      rest /= outer[d];
    }
    const int64_t row_count = std::min(kBlock, rows - row_start);
    const int64_t column_end = std::min(columns, column_start + kBlock * kBlocks);
    for (int64_t column = column_start; column < column_end; column += kBlock)
      copy_block<T>(to + row_start * to_row + column * to_column, to_row, to_column,
                    from + row_start * kSize + column * from_column, from_column, row_count,
                    std::min(kBlock, column_end - column));
  });
}

template <class T>
void copy_runs(CpuDevice& cpu, std::string_view name, const Tensor& out, const Tensor& x) {
  const Walk<2> walk({&out, &x});
  launch_tiles(cpu, name, walk.tiles(), [walk](int64_t index, int) {
    const int64_t to = walk.step(0), from = walk.step(1);
    walk.tile(index, [&](const auto& at, int64_t count) {
      if (to == sizeof(T) && from == sizeof(T)) {
        std::memcpy(at[0], at[1], static_cast<std::size_t>(count) * sizeof(T));
      } else if (to == sizeof(T)) {
        T* target = reinterpret_cast<T*>(at[0]);
        dense<T>(at[1], from, count, target);  // gathers there, or fills
      } else {
        for (int64_t i = 0; i < count; ++i)
          *reinterpret_cast<T*>(at[0] + i * to) = *reinterpret_cast<const T*>(at[1] + i * from);
      }
    });
  });
}

}  // namespace

void copy_bytes(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  base::WorkInfo work;
  work.kind = base::WorkKind::memcpy;
  work.name = "Memcpy DtoD (Device -> Device)";
  work.bytes = x.numel() * static_cast<int64_t>(tensor::size_of(x.dtype()));
  cpu.launch(work, [to = out.data(), from = x.data(), bytes = work.bytes](base::ThreadPool& pool) {
    if (to == from) return;  // onto itself, which memcpy does not allow
    pool.parallel_for((bytes + kMemcpyPiece - 1) / kMemcpyPiece, [&](int64_t piece, int) {
      const int64_t start = piece * kMemcpyPiece;
      std::memcpy(to + start, from + start, static_cast<std::size_t>(std::min(kMemcpyPiece, bytes - start)));
    });
  });
}

void copy(CpuDevice& cpu, const Tensor& out, const Tensor& x, CopyName what) {
  static constexpr auto kCopy = HUNCH_KERNEL_NAMES("copy");
  static constexpr auto kRepeat = HUNCH_KERNEL_NAMES("repeat_heads");
  const auto name = kernel_name(what == CopyName::copy ? kCopy : kRepeat, x.dtype());
  const int dim = dense_dim(x);
  with_bits_of(x.dtype(), [&](auto bits) {
    using T = decltype(bits);
    if (dim >= 0 && x.size(-1) > 1 && x.stride(-1) > 1)
      copy_transposed<T>(cpu, name, out, x, dim);
    else
      copy_runs<T>(cpu, name, out, x);
  });
}

}  // namespace hunch::ops::cpu
