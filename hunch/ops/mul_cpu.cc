// mul on the CPU: one pass, in float, rounded once.
// In: x of any strides. Out: a dense result of its dtype.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {

void mul(CpuDevice& cpu, const Tensor& out, const Tensor& x, double factor) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("mul");
  const Walk<2> walk({&out, &x});
  const DType dtype = x.dtype();
  const auto wide = static_cast<float>(factor);
  launch_tiles(cpu, kernel_name(kNames, dtype), walk.tiles(), [walk, dtype, wide](int64_t index, int) {
    FloatStage stage;
    const int64_t to = walk.step(0), from = walk.step(1);
    walk.tile(index, [&](const auto& at, int64_t length) {
      in_pieces(length, [&](int64_t i, int64_t count) {
        const float* values = stage.load(dtype, at[1] + i * from, from, count);
        float* results = stage.result(dtype, at[0] + i * to, to);
        simd::scale(values, wide, count, results);
        stage.store(dtype, results, count, at[0] + i * to, to);
      });
    });
  });
}

}  // namespace hunch::ops::cpu
