// fill on the CPU: the value's bits, over and over, into a dense tensor.
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"
#include "hunch/ops/walk.h"

namespace hunch::ops::cpu {

void fill(CpuDevice& cpu, const Tensor& out, double value) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("fill");
  const Walk<1> walk({&out});
  const std::string_view name = kernel_name(kNames, out.dtype());
  with_bits_of(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T bits = bits_of<T>(out.dtype(), value);
    launch_tiles(cpu, name, walk.tiles(), [walk, bits](int64_t index, int) {
      walk.tile(index, [&](const auto& at, int64_t count) {
        std::fill_n(reinterpret_cast<T*>(at[0]), count, bits);
      });
    });
  });
}

}  // namespace hunch::ops::cpu
