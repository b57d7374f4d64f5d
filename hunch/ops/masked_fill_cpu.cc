// masked_fill on the CPU, in place: bits of the value where the mask byte is not 0.
// In: x of any strides that do not overlap, the mask of any strides. Out: x.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {
namespace {

template <class T>
void launch(CpuDevice& cpu, const Tensor& x, const Tensor& mask, double value) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("masked_fill");
  const Walk<2> walk({&x, &mask});
  const T bits = bits_of<T>(x.dtype(), value);
  launch_tiles(cpu, kernel_name(kNames, x.dtype()), walk.tiles(), [walk, bits](int64_t index, int) {
    std::array<T, kPiece> values, scratch;
    std::array<uint8_t, kPiece> mask_scratch;
    values.fill(bits);
    const int64_t to = walk.step(0), from = walk.step(1);
    walk.tile(index, [&](const auto& at, int64_t length) {
      in_pieces(length, [&](int64_t i, int64_t count) {
        std::byte* target = at[0] + i * to;
        const T* before = dense(target, to, count, scratch.data());
        T* results = to == sizeof(T) ? reinterpret_cast<T*>(target) : scratch.data();
        simd::select(dense(at[1] + i * from, from, count, mask_scratch.data()), values.data(), before, count,
                     results);
        if (to != sizeof(T)) scatter(results, count, target, to);
      });
    });
  });
}

}  // namespace

void masked_fill(CpuDevice& cpu, const Tensor& x, const Tensor& mask, double value) {
  with_bits_of(x.dtype(), [&](auto bits) { launch<decltype(bits)>(cpu, x, mask, value); });
}

}  // namespace hunch::ops::cpu
