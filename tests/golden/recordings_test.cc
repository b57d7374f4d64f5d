// Recordings that hunch made on an H200 with CUPTI (`hunch run --device cuda`, the reference problem), read
// back: the same counts, every piece of device work joined to its call, and the driver's occupancy equal to
// the one that is worked out from the trace's fields.
#include <gtest/gtest.h>

#include <string>

#include "hunch/analysis/analysis.h"
#include "hunch/formats/reader.h"
#include "hunch/report/report.h"

namespace hunch {
namespace {

struct Expected {
  std::string name;
  int64_t kernels, copies, memsets;
};

class Recordings : public testing::TestWithParam<Expected> {};

TEST_P(Recordings, ReadBackAsTheyWereMade) {
  const Expected& expected = GetParam();
  const auto trace =
      formats::read_trace(std::string(HUNCH_TEST_DATA) + "/recordings/" + expected.name + ".json.gz");
  ASSERT_TRUE(trace.has_value()) << base::describe(trace.error());
  EXPECT_EQ(trace->stats.skipped, 0U);
  EXPECT_TRUE(trace->stats.warnings.empty()) << trace->stats.warnings.front();
  const analysis::Analysis analysis = analysis::analyze(*trace);
  ASSERT_EQ(analysis.forwards.size(), 1U);
  const report::ForwardRow row = report::forward_row(analysis.forwards.front());
  EXPECT_EQ(row.range, "attn_fwd");
  EXPECT_EQ(row.runs, 3);
  EXPECT_EQ(row.kernels.min, expected.kernels);
  EXPECT_EQ(row.kernels.max, expected.kernels);
  EXPECT_EQ(row.memcpy.max, expected.copies);
  EXPECT_EQ(row.memset.max, expected.memsets);
  int kernels = 0;
  for (const report::KernelRow& kernel : report::kernel_rows(analysis, analysis.forwards.front())) {
    if (kernel.kind != "kernel") continue;
    ++kernels;
    ASSERT_TRUE(kernel.occupancy.has_value()) << kernel.name;
    ASSERT_TRUE(kernel.occupancy->driver_pct.has_value()) << kernel.name;
    EXPECT_EQ(kernel.occupancy->theoretical_pct, kernel.occupancy->driver_pct) << kernel.name;
  }
  EXPECT_GT(kernels, 0);
}

INSTANTIATE_TEST_SUITE_P(OnAGpu, Recordings,
                         testing::Values(Expected{"naive", 5, 1, 1}, Expected{"math", 20, 0, 0},
                                         Expected{"efficient", 1, 0, 0}, Expected{"flash", 1, 0, 0},
                                         Expected{"cudnn", 1, 0, 1}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace hunch
