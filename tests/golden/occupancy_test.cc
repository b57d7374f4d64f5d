// Computed occupancy against the profiler's own estimate, over every kernel of every real trace. The
// estimate is right where a block needs no more than 48 KiB of shared memory; above that it is always 0.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "hunch/analysis/occupancy.h"
#include "hunch/formats/reader.h"

namespace hunch {
namespace {

TEST(Occupancy, AgreesWithTheReportedFieldWhereThatOneIsRight) {
  int agree = 0, misreported = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HUNCH_TEST_DATA) + "/traces")) {
    if (entry.path().extension() != ".gz") continue;
    const auto trace = formats::read_trace(entry.path().string());
    ASSERT_TRUE(trace) << base::describe(trace.error());
    for (trace::EventId id = 0; id < trace->size(); ++id) {
      if (trace->kind[id] != trace::EventKind::kernel) continue;
      const auto* kernel = trace->device_detail(id);
      ASSERT_NE(kernel, nullptr);
      const auto* device = trace->device(kernel->device);
      ASSERT_NE(device, nullptr);
      const auto occupancy = analysis::compute_occupancy(*kernel, *device);
      ASSERT_TRUE(occupancy) << trace->name_of(id);
      if (kernel->shared_bytes > 48 * 1024) {
        ++misreported;
        EXPECT_EQ(kernel->reported_occupancy_pct, 0) << trace->name_of(id);
        EXPECT_GT(occupancy->theoretical_pct, 0) << trace->name_of(id);
        continue;
      }
      // The profiler counts threads, hunch whole warps: the same for blocks of whole warps.
      const auto threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
      const double whole_warps = (threads + 31) / 32 * 32.0;
      const auto rounded = std::lround(occupancy->grid_limited_pct * threads / whole_warps);
      EXPECT_EQ(rounded, std::lround(kernel->reported_occupancy_pct))
          << entry.path().filename().string() << " event " << trace->source_index[id] << ": "
          << trace->name_of(id) << "\nregisters " << kernel->registers << ", shared " << kernel->shared_bytes
          << ", threads " << threads << ", blocks a multiprocessor " << kernel->blocks_per_sm << ", computed "
          << occupancy->grid_limited_pct;
      agree += rounded == std::lround(kernel->reported_occupancy_pct);
    }
  }
  std::printf("%d kernels agree; %d with more than 48 KiB of shared memory are reported as 0\n", agree,
              misreported);
  EXPECT_GT(agree, 4000);
  EXPECT_GT(misreported, 700);
}

}  // namespace
}  // namespace hunch
