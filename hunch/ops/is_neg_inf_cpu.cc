// is_neg_inf on the CPU: -inf is one bit pattern in every float type, so bits are compared.
#include <limits>

#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {
namespace {

template <class T>
void launch(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("is_neg_inf");
  const Walk<2> walk({&out, &x});
  const T bits = bits_of<T>(x.dtype(), -std::numeric_limits<double>::infinity());
  launch_tiles(cpu, kernel_name(kNames, x.dtype()), walk.tiles(), [walk, bits](int64_t index, int) {
    std::array<T, kPiece> scratch;
    const int64_t from = walk.step(1);  // the output is dense: one byte an element
    walk.tile(index, [&](const auto& at, int64_t length) {
      in_pieces(length, [&](int64_t i, int64_t count) {
        simd::equals(dense(at[1] + i * from, from, count, scratch.data()), bits, count,
                     reinterpret_cast<uint8_t*>(at[0] + i));
      });
    });
  });
}

}  // namespace

void is_neg_inf(CpuDevice& cpu, const Tensor& out, const Tensor& x) {
  if (x.dtype() == DType::f32)
    launch<uint32_t>(cpu, out, x);
  else
    launch<uint16_t>(cpu, out, x);
}

}  // namespace hunch::ops::cpu
