// cast on the CPU: one pass through float, which every dtype fits in; rounded once.
// In: x of any strides. Out: a result of another dtype and any strides (copy_ between dtypes comes here too).
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {
namespace {

#define HUNCH_CAST_NAMES(from)                                                \
  ::std::array<::std::string_view, 4> {                                       \
    "hunch::cpu::cast<" from ", f32>", "hunch::cpu::cast<" from ", bf16>",    \
        "hunch::cpu::cast<" from ", f16>", "hunch::cpu::cast<" from ", bool>" \
  }
constexpr std::array<std::array<std::string_view, 4>, 4> kNames = {
    HUNCH_CAST_NAMES("f32"), HUNCH_CAST_NAMES("bf16"), HUNCH_CAST_NAMES("f16"), HUNCH_CAST_NAMES("bool")};

}  // namespace

void cast(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  const Walk<2> walk({&out, &x});
  const DType to_type = out.dtype(), from_type = x.dtype();
  const auto name = kernel_name(kNames[static_cast<std::size_t>(from_type)], to_type);
  launch_tiles(cpu, name, walk.tiles(), [walk, to_type, from_type](int64_t index, int) {
    FloatStage stage;
    const int64_t to = walk.step(0), from = walk.step(1);
    walk.tile(index, [&](const auto& at, int64_t length) {
      in_pieces(length, [&](int64_t i, int64_t count) {
        std::byte* target = at[0] + i * to;
        // bf16 or f16 to dense f32 needs no stage in between.
        if (to_type == DType::f32 && to == sizeof(float) &&
            from == static_cast<int64_t>(tensor::size_of(from_type)))
          return tensor::widen(from_type, at[1] + i * from, count, reinterpret_cast<float*>(target));
        stage.store(to_type, stage.load(from_type, at[1] + i * from, from, count), count, target, to);
      });
    });
  });
}

}  // namespace hunch::ops::cpu
