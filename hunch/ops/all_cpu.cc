// all on the CPU: looks for a zero byte in each row, and stops at the first.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/rows.h"
#include "hunch/ops/simd.h"

namespace hunch::ops::cpu {

void all(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("all");
  const Rows rows(x);
  launch_tiles(
      cpu, kernel_name(kNames, x.dtype()), rows.tiles(), [rows, target = out.data()](int64_t tile, int) {
        std::array<uint8_t, kPiece> scratch;
        for (int64_t row = rows.tile_begin(tile); row < rows.tile_end(tile); ++row) {
          const std::byte* from = rows.row(row);
          bool whole = true;
          for (int64_t at = 0; whole && at < rows.length(); at += kPiece) {
            const int64_t count = std::min(kPiece, rows.length() - at);
            const uint8_t* piece = dense(from + at * rows.step(), rows.step(), count, scratch.data());
            whole = std::memchr(piece, 0, static_cast<std::size_t>(count)) == nullptr;
          }
          target[row] = whole ? std::byte{1} : std::byte{0};
        }
      });
}

}  // namespace hunch::ops::cpu
