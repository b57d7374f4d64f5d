// Time and memory follow the size of a trace, whatever it holds: what nests, crosses or repeats without bound
// in these inputs would, counted naively, take their square. What is asserted are the results; the sizes are
// such that the square would be felt.
#include <algorithm>
#include <map>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/report/report.h"
#include "tests/unit/formats/cases.h"

namespace hunch {
namespace {

using formats::event;
using formats::object;
using formats::read_case;

std::string kernel(const std::string& name, int ts, int correlation) {
  return event("kernel", name, std::to_string(ts), "1",
               fmt::format(R"("device": 0, "stream": 7, "correlation": {})", correlation), "0", "7");
}
std::string launch(int ts, int correlation) {
  return event("cuda_runtime", "cudaLaunchKernel", fmt::format("{}.5", ts), "0.1",
               fmt::format(R"("correlation": {})", correlation));
}

TEST(Bounded, OpsNestedWithoutEnd) {
  constexpr int kOps = 20'000;
  std::vector<std::string> events;
  for (int i = 0; i < kOps; ++i) {
    events.push_back(
        event("cpu_op", fmt::format("op{}", i), std::to_string(i), std::to_string(10 * kOps - 2 * i)));
    events.push_back(launch(i, i + 1));
    events.push_back(kernel("k", 10 * kOps + 2 * i, i + 1));
  }
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.unlinked, 0u);
  for (const int i : {0, 1, 50, 99}) {
    const auto stack = analysis::op_stack(trace, result.timeline, static_cast<analysis::EventId>(3 * i + 2));
    ASSERT_EQ(stack.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(trace.name_of(stack.back()), fmt::format("op{}", i));
  }
  // Deeper ones count for the last level.
  for (const int i : {100, kOps - 1}) {
    const auto stack = analysis::op_stack(trace, result.timeline, static_cast<analysis::EventId>(3 * i + 2));
    ASSERT_EQ(stack.size(), analysis::kDeepestOps);
    EXPECT_EQ(trace.name_of(stack.front()), "op0");
    EXPECT_EQ(trace.name_of(stack.back()), "op99");
  }
  EXPECT_EQ(result.chains.size(), analysis::kDeepestOps + 1u);
}

TEST(Bounded, FramesOfPythonDoNotHideTheOpsInThem) {
  std::vector<std::string> events;
  for (int i = 0; i < 3'000; ++i)
    events.push_back(event("python_function", fmt::format("f.py({}): f", i), std::to_string(i),
                           std::to_string(10'000 - 2 * i)));
  events.push_back(event("cpu_op", "aten::mm", "3500", "10"));
  events.push_back(launch(3505, 1));
  events.push_back(kernel("k", 20'000, 1));
  const auto trace = read_case(object(events));
  EXPECT_EQ(analysis::analyze(trace).outer_op(static_cast<analysis::EventId>(trace.size() - 1)), "aten::mm");
}

TEST(Bounded, RangesThatNeverEnd) {
  constexpr int kRanges = 5'000;
  std::vector<std::string> events;
  for (int i = 0; i < kRanges; ++i) {
    events.push_back(event("user_annotation", fmt::format("step {}", i), std::to_string(10 * i),
                           std::to_string(10 * (kRanges - i))));
    events.push_back(launch(10 * i + 2, i + 1));
    events.push_back(kernel("k", 10 * i + 5, i + 1));
  }
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.forwards.size(), analysis::kDeepestRanges);
  EXPECT_EQ(result.too_deep_ranges, kRanges - analysis::kDeepestRanges);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, kRanges);
  EXPECT_EQ(result.forwards[99].runs[0].kernels, kRanges - 99);
  const auto warnings = report::explain(result, {}).statistics.warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0],
      "4900 ranges are no forwards here: at least 100 of their thread are open around each, as ranges that "
      "never ended are");
  // Beside each other, and on other threads, there may be any number.
  std::vector<std::string> fine;
  for (int i = 0; i < 300; ++i) {
    fine.push_back(event("user_annotation", "step", std::to_string(10 * i), "9"));
    fine.push_back(event("user_annotation", "other", "0", "9000", "", "1", std::to_string(100 + i)));
  }
  const auto beside = read_case(object(fine));
  EXPECT_EQ(analysis::analyze(beside).too_deep_ranges, 0u);
}

TEST(Bounded, AsManyKindsOfWorkAsRuns) {
  constexpr int kRuns = 20'000;
  std::vector<std::string> events;
  for (int i = 0; i < kRuns; ++i) {
    events.push_back(event("user_annotation", "forward", std::to_string(10 * i), "9"));
    // A clone, a wait and a copy of the layout of an op of its own in each run, and one that all have.
    for (const std::string& op : {fmt::format("lib{}::masked_fill", i), std::string("aten::masked_fill")}) {
      const int correlation = static_cast<int>(events.size());
      const auto ts = fmt::format("{}.{}", 10 * i, op[0] == 'l' ? 1 : 5);
      events.push_back(event("cpu_op", op, ts, "0.3"));
      events.push_back(event("cpu_op", "aten::clone", ts, "0.25"));
      events.push_back(event("cpu_op", "aten::copy_", ts, "0.2"));
      events.push_back(event("cuda_runtime", "cudaMemcpyAsync", ts + "1", "0.01",
                             fmt::format(R"("correlation": {})", correlation)));
      events.push_back(event("cuda_runtime", "cudaStreamSynchronize", ts + "3", "0.1"));
      events.push_back(event(
          "gpu_memcpy", "Memcpy DtoD (Device -> Device)", ts + "2", "0.1",
          fmt::format(R"("device": 0, "stream": 7, "bytes": 64, "correlation": {})", correlation), "0", "7"));
    }
  }
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  ASSERT_EQ(result.forwards.size(), 1u);
  const auto rows = report::kernel_rows(result, result.forwards[0]);
  EXPECT_EQ(rows.size(), kRuns + 1u);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.calls != 0; }), 1);
  EXPECT_EQ(rows[0].op, "aten::masked_fill");
  EXPECT_EQ(rows[0].calls, 1);
  EXPECT_EQ(rows[0].device_ns, 100);
  // Of what is not in most runs no rule speaks.
  std::vector<std::string> found;
  for (const auto& finding : analysis::rules::find_all(result))
    if (finding.rule == "hidden_copy" || finding.rule == "host_sync")
      found.push_back(finding.rule + " " + finding.cause);
  ASSERT_EQ(found.size(), 2u);
  for (const auto& text : found)
    EXPECT_NE(text.find("`aten::masked_fill > aten::clone > aten::copy_`"), std::string::npos) << text;
}

TEST(Bounded, MemoryOfAnyNumberOfBytesAndDevices) {
  const auto memory = [](int ts, int device, const std::string& bytes, const std::string& total) {
    return fmt::format(
        R"({{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": {}, "args": {{"Bytes": {}, "Total Allocated": {}, "Device Id": {}, "Device Type": 1}}}})",
        ts, bytes, total, device);
  };
  const std::string most = "9223372036854775807";
  std::vector<std::string> events = {event("user_annotation", "forward", "10", "100")};
  events.push_back(memory(1, 0, "100", "1000"));
  events.push_back(memory(20, 0, "500", "1500"));
  events.push_back(memory(30, 0, "-300", "1200"));
  const auto usual = read_case(object(events));
  EXPECT_EQ(analysis::analyze(usual).forwards.at(0).runs.at(0).peak_bytes, 500);
  for (int device = 0; device < 5'000; ++device) events.push_back(memory(40, device, "-" + most, most));
  events.push_back(memory(50, 0, most, most));
  const auto odd = read_case(object(events));
  const auto peak = analysis::analyze(odd).forwards.at(0).runs.at(0).peak_bytes;
  ASSERT_TRUE(peak);
  EXPECT_GE(*peak, 0);  // nonsense stays nonsense, within its type
}

// A row's median over runs counts those without it as 0.
TEST(Bounded, MediansCountRunsThatHaveNone) {
  std::vector<std::string> events;
  int correlation = 0;
  // Of four runs: a in all, b in three (twice in one), c in two.
  const std::vector<std::string> runs = {"aabc", "abb", "ac", "ab"};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const int ts = 100 * static_cast<int>(r);
    events.push_back(event("user_annotation", "forward", std::to_string(ts), "90"));
    for (std::size_t i = 0; i < runs[r].size(); ++i) {
      events.push_back(launch(ts + 2 * static_cast<int>(i), ++correlation));
      events.push_back(kernel(std::string(1, runs[r][i]), ts + 50 + 2 * static_cast<int>(i), correlation));
    }
  }
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  std::map<std::string, int64_t> calls, times;
  for (const auto& row : report::kernel_rows(result, result.forwards.at(0))) {
    calls[row.name] = row.calls;
    times[row.name] = row.device_ns;
  }
  EXPECT_EQ(calls, (std::map<std::string, int64_t>{{"a", 1}, {"b", 1}, {"c", 0}}));
  EXPECT_EQ(times, (std::map<std::string, int64_t>{{"a", 1000}, {"b", 1000}, {"c", 0}}));
}

}  // namespace
}  // namespace hunch
