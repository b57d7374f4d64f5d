// tril on the CPU: row i of a matrix keeps its first i + 1 elements, bit for bit, and is zero behind them.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/rows.h"
#include "hunch/ops/simd.h"

namespace hunch::ops::cpu {
namespace {

template <class T>
void launch(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("tril");
  const Rows rows(x);
  if (rows.length() == 0) return;
  T* target = reinterpret_cast<T*>(out.data());
  const int64_t height = x.size(-2);
  launch_tiles(cpu, kernel_name(kNames, x.dtype()), rows.tiles(), [rows, target, height](int64_t tile, int) {
    for (int64_t row = rows.tile_begin(tile); row < rows.tile_end(tile); ++row) {
      T* to = target + row * rows.length();
      const std::byte* from = rows.row(row);
      const int64_t kept = std::min(rows.length(), row % height + 1);
      if (const T* values = dense(from, rows.step(), kept, to); values != to) std::copy_n(values, kept, to);
      std::fill(to + kept, to + rows.length(), T{0});
    }
  });
}

}  // namespace

void tril(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  with_bits_of(x.dtype(), [&](auto bits) { launch<decltype(bits)>(cpu, out, x); });
}

}  // namespace hunch::ops::cpu
