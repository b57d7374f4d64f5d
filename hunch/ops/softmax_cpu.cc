// softmax on the CPU: a row at a time, in a float copy that stays in the worker's caches: the largest
// value, exp of the differences and their sum, then one division and one rounding.
#include <vector>

#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/rows.h"
#include "hunch/ops/simd.h"

namespace hunch::ops::cpu {
namespace {

// Loads a row as floats into `values`.
void load_row(DType dtype, const std::byte* from, int64_t step, int64_t length, float* values,
              FloatStage& stage) {
  if (step == static_cast<int64_t>(tensor::size_of(dtype))) return tensor::widen(dtype, from, length, values);
  in_pieces(length, [&](int64_t i, int64_t count) {
    const float* piece = stage.load(dtype, from + i * step, step, count);
    std::copy_n(piece, count, values + i);
  });
}

}  // namespace

void softmax(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("softmax");
  const Rows rows(x);
  if (rows.length() == 0) return;
  const DType dtype = x.dtype();
  launch_tiles(cpu, kernel_name(kNames, dtype), rows.tiles(),
               [rows, dtype, target = out.data()](int64_t tile, int) {
                 FloatStage stage;
                 std::vector<float> values(static_cast<std::size_t>(rows.length()));
                 const int64_t row_bytes = rows.length() * static_cast<int64_t>(tensor::size_of(dtype));
                 for (int64_t row = rows.tile_begin(tile); row < rows.tile_end(tile); ++row) {
                   std::byte* to = target + row * row_bytes;
                   load_row(dtype, rows.row(row), rows.step(), rows.length(), values.data(), stage);
                   const float most = simd::largest(values.data(), rows.length());
                   const float sum = simd::exp_and_sum(values.data(), most, rows.length());
                   // NaN where nothing was finite: 0/0, and -inf - -inf above.
                   const float share = 1.0F / sum;
                   if (dtype == DType::f32) {
                     simd::scale(values.data(), share, rows.length(), reinterpret_cast<float*>(to));
                   } else {
                     simd::scale(values.data(), share, rows.length(), values.data());
                     tensor::narrow(dtype, values.data(), rows.length(), to);
                   }
                 }
               });
}

}  // namespace hunch::ops::cpu
