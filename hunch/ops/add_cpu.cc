// add on the CPU: one pass, in float, rounded once.
// In: a and b of any strides and dtypes, in the result's shape. Out: a dense result.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {

void add(CpuDevice& cpu, const Tensor& out, const Tensor& a, const Tensor& b) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("add");
  const Walk<3> walk({&out, &a, &b});
  const DType dtype = out.dtype(), dtype_a = a.dtype(), dtype_b = b.dtype();
  launch_tiles(cpu, kernel_name(kNames, dtype), walk.tiles(),
               [walk, dtype, dtype_a, dtype_b](int64_t index, int) {
                 FloatStage stage_a, stage_b;
                 const int64_t to = walk.step(0), from_a = walk.step(1), from_b = walk.step(2);
                 walk.tile(index, [&](const auto& at, int64_t length) {
                   in_pieces(length, [&](int64_t i, int64_t count) {
                     const float* values_a = stage_a.load(dtype_a, at[1] + i * from_a, from_a, count);
                     const float* values_b = stage_b.load(dtype_b, at[2] + i * from_b, from_b, count);
                     float* results = stage_a.result(dtype, at[0] + i * to, to);
                     simd::add(values_a, values_b, count, results);
                     stage_a.store(dtype, results, count, at[0] + i * to, to);
                   });
                 });
               });
}

}  // namespace hunch::ops::cpu
