// where on the CPU: bits of a or of b. In: three inputs of any strides in the result's shape.
// Out: a dense result.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {
namespace {

template <class T>
void launch(CpuDevice& cpu, const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("where");
  const Walk<4> walk({&out, &condition, &a, &b});
  launch_tiles(cpu, kernel_name(kNames, out.dtype()), walk.tiles(), [walk](int64_t index, int) {
    std::array<uint8_t, kPiece> scratch_condition;
    std::array<T, kPiece> scratch_a, scratch_b, results;
    const int64_t to = walk.step(0), from_condition = walk.step(1), from_a = walk.step(2),
                  from_b = walk.step(3);
    walk.tile(index, [&](const auto& at, int64_t length) {
      in_pieces(length, [&](int64_t i, int64_t count) {
        std::byte* target = at[0] + i * to;
        T* into = to == sizeof(T) ? reinterpret_cast<T*>(target) : results.data();
        simd::select(dense(at[1] + i * from_condition, from_condition, count, scratch_condition.data()),
                     dense(at[2] + i * from_a, from_a, count, scratch_a.data()),
                     dense(at[3] + i * from_b, from_b, count, scratch_b.data()), count, into);
        if (into == results.data()) scatter(into, count, target, to);
      });
    });
  });
}

}  // namespace

void where(CpuDevice& cpu, const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  with_bits_of(out.dtype(), [&](auto bits) { launch<decltype(bits)>(cpu, out, condition, a, b); });
}

}  // namespace hunch::ops::cpu
