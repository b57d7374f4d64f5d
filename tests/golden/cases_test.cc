// Traces of the field whose device work is hard to join with what launched it: one small input a case, read
// and analysed, with the right value. The numbers are the rows of docs/formats.md; the other cases stand in
// tests/unit/formats/cases_test.cc.
#include "tests/unit/formats/cases.h"

#include <algorithm>

#include "hunch/analysis/analysis.h"

namespace hunch {
namespace {

using analysis::kNone;
using formats::event;
using formats::object;
using formats::read_case;

std::string launch(const std::string& name, int ts, int correlation,
                   const std::string& category = "cuda_runtime") {
  return event(category, name, std::to_string(ts), "2", fmt::format(R"("correlation": {})", correlation));
}
std::string kernel(const std::string& name, const std::string& ts, int correlation,
                   const std::string& more = {}) {
  return event("kernel", name, ts, "3",
               fmt::format(R"("device": 0, "stream": 7, "correlation": {}{})", correlation, more), "0", "7");
}

TEST(Cases, T24_AKernelBeforeItsLaunchIsStillItsKernel) {
  const auto trace =
      read_case(object({launch("cuLaunchKernelEx", 10, 5, "cuda_driver"), kernel("nccl", "9.6", 5)}));
  EXPECT_EQ(analysis::build_timeline(trace).launch[1], 0u);
}

TEST(Cases, T25_T26_LaunchesWithoutKernels) {
  std::vector<std::string> events;
  for (int i = 0; i < 10; ++i) events.push_back(launch("cudaLaunchKernel", 10 * i, i + 1));
  for (int i = 4; i < 10; ++i) events.push_back(kernel("k", std::to_string(10 * i + 1), i + 1));
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.unlinked, 0u);
  EXPECT_EQ(result.timeline.device_order.size(), 6u);
  events.resize(10);
  EXPECT_EQ(analysis::analyze(read_case(object(events))).timeline.device_order.size(), 0u);
}

TEST(Cases, T30_M10_ExternalIdsMayMislead) {
  const auto trace = read_case(
      object({event("cpu_op", "aten::mm", "1", "20", R"("External id": 7)"),
              event("cpu_op", "aten::add", "30", "20", R"("External id": 5)"),
              event("cuda_runtime", "cudaLaunchKernel", "5", "2", R"("External id": 0, "correlation": 5)"),
              kernel("k", "40", 5, R"(, "External id": 5)")}));
  EXPECT_EQ(analysis::analyze(trace).outer_op(3), "aten::mm");
}

TEST(Cases, T31_LaunchCallsOfAnyName) {
  const auto trace =
      read_case(object({launch("cuLaunchKernelNew", 1, 5, "cuda_driver"), kernel("k", "4", 5)}));
  EXPECT_EQ(analysis::build_timeline(trace).launch[1], 0u);
}

TEST(Cases, T32_KernelsWhoseLaunchWasNotRecorded) {
  const auto trace =
      read_case(object({event("cpu_op", "x", "1", "9"), kernel("triton_poi_fused_add", "4", 5)}));
  EXPECT_EQ(analysis::build_timeline(trace).unlinked, 1u);
}

TEST(Cases, T33_M3_OneGraphLaunchManyKernels) {
  std::vector<std::string> events;
  for (int replay = 0; replay < 3; ++replay) {
    events.push_back(launch("hipGraphLaunch", 100 * replay, replay + 1));
    for (int k = 0; k < 6; ++k)
      events.push_back(kernel(fmt::format("k{}", k), std::to_string(100 * replay + 5 + 5 * k), replay + 1));
  }
  const auto trace = read_case(object(events));
  const auto timeline = analysis::build_timeline(trace);
  EXPECT_EQ(timeline.unlinked, 0u);
  for (trace::EventId e = 0; e < trace.size(); ++e)
    if (trace::is_device_work(trace.kind[e])) {
      EXPECT_EQ(timeline.launch[e], e / 7 * 7);
    }
}

TEST(Cases, T37_NothingButKernelsAndCalls) {
  const auto trace = read_case(object({launch("cudaLaunchKernel", 1, 5), kernel("k", "4", 5)}));
  const auto result = analysis::analyze(trace);
  ASSERT_EQ(result.forwards.size(), 1u);
  EXPECT_EQ(result.forwards[0].source, analysis::ForwardSource::whole_trace);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, 1);
}

TEST(Cases, T39_AChildThatEndsALittleLater) {
  const auto trace =
      read_case(object({event("cpu_op", "outer", "1", "10"), event("cpu_op", "inner", "2", "9.3")}));
  EXPECT_EQ(analysis::build_timeline(trace).parent[1], 0u);
}

TEST(Cases, T51_XpuCallsThatShareACorrelation) {
  const auto trace = read_case(
      object({launch("urEnqueueKernelLaunch", 1, 5, "xpu_driver"),
              launch("piEnqueueKernelLaunch", 1, 5, "xpu_runtime"),
              event("kernel", "gemm", "4", "3",
                    R"("device": 0, "sycl queue": 64, "l0 queue": "0x55", "correlation": 5)", "0", "0")}));
  EXPECT_EQ(analysis::build_timeline(trace).launch[2], 1u);  // the runtime's
  EXPECT_EQ(trace.device_detail(2)->stream, -1);
}

TEST(Cases, T55_TwoRanksInOneFileWithEqualIds) {
  std::vector<std::string> events;
  for (const char* rank : {R"("[TP00] 83")", R"("[TP01] 83")"}) {
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", "1", "2", R"("correlation": 5)", rank));
    events.push_back(
        event("kernel", "k", "4", "3", R"("device": 0, "stream": 7, "correlation": 5)", rank, "7"));
  }
  const auto timeline = analysis::build_timeline(read_case(object(events)));
  EXPECT_EQ(timeline.launch[1], 0u);
  EXPECT_EQ(timeline.launch[3], 2u);
}

TEST(Cases, T56_DeviceWorkWithoutOps) {
  const auto trace = read_case(object({kernel("k1", "4", 5), kernel("k2", "9", 6)}));
  const auto result = analysis::analyze(trace);
  ASSERT_EQ(result.forwards.size(), 1u);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, 2);
  EXPECT_EQ(result.outer_op(0), "");
}

TEST(Cases, T61_M2_WorkFromBeforeTheTrace) {
  const auto trace = read_case(object({kernel("old", "1", 3), event("cpu_op", "x", "10", "9"),
                                       launch("cudaLaunchKernel", 11, 8), kernel("new", "15", 8)}));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.launch[0], kNone);
  EXPECT_EQ(result.unattributed, std::vector<trace::EventId>{0});
}

TEST(Cases, M4_T21_BusyTimeIsTheUnion) {
  const auto trace =
      read_case(object({launch("cudaLaunchKernelExC", 1, 5), launch("cudaLaunchKernelExC", 3, 6),
                        kernel("a", "10", 5), kernel("b", "12", 6)}));
  const auto& run = analysis::analyze(trace).forwards[0].runs[0];
  EXPECT_EQ(run.device_ns, 6000);
  EXPECT_EQ(run.busy_ns, 5000);
}

TEST(Cases, ShuffledEventsAreTheSameTrace) {
  std::vector<std::string> events = {event("user_annotation", "forward", "1", "50"),
                                     event("cpu_op", "aten::mm", "2", "20"), launch("cudaLaunchKernel", 5, 5),
                                     kernel("k", "10", 5)};
  for (int i = 0; i < 24; ++i) {
    std::next_permutation(events.begin(), events.end());
    const auto trace = read_case(object(events));
    const auto result = analysis::analyze(trace);
    ASSERT_EQ(result.forwards.size(), 1u);
    EXPECT_EQ(result.forwards[0].range, "forward");
    EXPECT_EQ(result.forwards[0].runs[0].kernels, 1);
  }
}

}  // namespace
}  // namespace hunch
