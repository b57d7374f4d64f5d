// Occupancy against kernels whose value is known: hardware counters and the profiler's own estimate where
// that one is right.
#include "hunch/analysis/occupancy.h"

#include <gtest/gtest.h>

namespace hunch::analysis {
namespace {

trace::DeviceProperties h200() {
  trace::DeviceProperties device;
  device.name = "NVIDIA H200";
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.registers_per_multiprocessor = 65536;
  device.shared_bytes_per_block = 49152;
  device.shared_bytes_per_block_optin = 232448;
  device.shared_bytes_per_multiprocessor = 233472;
  return device;
}

trace::DeviceDetail kernel(int registers, uint32_t threads, int64_t shared, uint32_t blocks = 1 << 20) {
  trace::DeviceDetail detail;
  detail.registers = registers;
  detail.shared_bytes = shared;
  detail.block = {threads, 1, 1};
  detail.grid = {blocks, 1, 1};
  return detail;
}

struct Known {
  const char* name;
  int registers;
  uint32_t threads;
  int64_t shared;
  double percent;
  const char* limited_by;
};

TEST(Occupancy, KernelsMeasuredOnAnH200) {
  const Known known[] = {
      {"cuDNN forward", 168, 384, 134'144, 18.75, "registers+shared memory"},
      {"cuDNN backward", 168, 384, 152'576, 18.75, "registers+shared memory"},
      {"flash forward", 255, 128, 49'152, 12.5, "registers"},
      {"flash backward", 255, 256, 147'456, 12.5, "registers+shared memory"},
      {"flash backward, dot", 44, 256, 0, 62.5, "registers"},
      {"efficient forward", 128, 128, 18'944, 25, "registers"},
      {"efficient backward", 162, 128, 42'240, 18.75, "registers"},
      {"nvjet", 168, 384, 213'188, 18.75, "registers+shared memory"},
      {"softmax_warp_forward", 48, 128, 0, 62.5, "registers"},
  };
  for (const Known& each : known) {
    const auto occupancy = compute_occupancy(kernel(each.registers, each.threads, each.shared), h200());
    ASSERT_TRUE(occupancy) << each.name;
    EXPECT_DOUBLE_EQ(occupancy->theoretical_pct, each.percent) << each.name;
    EXPECT_DOUBLE_EQ(occupancy->grid_limited_pct, each.percent) << each.name;
    EXPECT_EQ(occupancy->limited_by, each.limited_by) << each.name;
  }
}

TEST(Occupancy, GridThatDoesNotFillTheDevice) {
  const auto occupancy = compute_occupancy(kernel(48, 128, 0, 66), h200());
  ASSERT_TRUE(occupancy);
  EXPECT_DOUBLE_EQ(occupancy->theoretical_pct, 62.5);
  EXPECT_DOUBLE_EQ(occupancy->grid_limited_pct, 0.5 * 4 / 64 * 100);
}

TEST(Occupancy, LimitsOfThreadsBlocksAndSharedMemory) {
  EXPECT_EQ(compute_occupancy(kernel(32, 1024, 0), h200())->limited_by, "registers+threads");
  EXPECT_EQ(compute_occupancy(kernel(16, 1024, 0), h200())->limited_by, "threads");
  const auto small = compute_occupancy(kernel(16, 32, 0), h200());
  EXPECT_EQ(small->limited_by, "blocks");
  EXPECT_EQ(small->blocks_per_multiprocessor, 32);
  EXPECT_DOUBLE_EQ(small->theoretical_pct, 50);
  // One block more would fit without the 1,024 bytes that the driver keeps of each.
  const auto shared = compute_occupancy(kernel(16, 64, 233'472 / 4), h200());
  EXPECT_EQ(shared->blocks_per_multiprocessor, 3);
  EXPECT_EQ(shared->limited_by, "shared memory");
}

TEST(Occupancy, BlocksAndSharedMemoryByArchitecture) {
  auto device = h200();
  const auto blocks = [&](int major, int minor) {
    device.compute_major = major;
    device.compute_minor = minor;
    return compute_occupancy(kernel(16, 32, 0), device)->blocks_per_multiprocessor;
  };
  EXPECT_EQ(blocks(7, 0), 32);
  EXPECT_EQ(blocks(7, 5), 16);
  EXPECT_EQ(blocks(8, 0), 32);
  EXPECT_EQ(blocks(8, 6), 16);
  EXPECT_EQ(blocks(8, 9), 24);
  EXPECT_EQ(blocks(9, 0), 32);
  EXPECT_EQ(blocks(10, 0), 32);
  EXPECT_EQ(blocks(12, 0), 24);
  // Before 8.0 the driver keeps no shared memory for itself.
  device.compute_major = 7;
  device.compute_minor = 0;
  EXPECT_EQ(compute_occupancy(kernel(16, 64, 233'472 / 4), device)->blocks_per_multiprocessor, 4);
}

TEST(Occupancy, NothingWhereTheTraceDoesNotTellOrTheDeviceIsUnknown) {
  EXPECT_FALSE(compute_occupancy(kernel(-1, 128, 0), h200()));
  EXPECT_FALSE(compute_occupancy(kernel(32, 0, 0), h200()));
  EXPECT_FALSE(compute_occupancy(kernel(32, 128, -1), h200()));
  EXPECT_FALSE(compute_occupancy(kernel(32, 128, 300'000), h200())) << "more than a block can have";
  EXPECT_FALSE(compute_occupancy(kernel(32, 128, 0), trace::DeviceProperties{}));
  auto amd = h200();
  amd.compute_minor = 4;  // gfx942 calls itself 9.4
  amd.warp_size = 64;
  EXPECT_FALSE(compute_occupancy(kernel(32, 128, 0), amd));
  auto future = h200();
  future.compute_major = 40;
  EXPECT_FALSE(compute_occupancy(kernel(32, 128, 0), future));
  auto cpu = h200();
  cpu.is_cpu = true;
  EXPECT_FALSE(compute_occupancy(kernel(32, 128, 0), cpu));
}

}  // namespace
}  // namespace hunch::analysis
