// explain(): from a trace built by hand to rows. Two forwards that differ, a copy, work without a launch.
#include <gtest/gtest.h>

#include "hunch/report/report.h"
#include "hunch/trace/builder.h"

namespace hunch::report {
namespace {

using trace::EventKind;

// One thread, one stream. Forward 1: matmul (10 us), copy (2 us). Forward 2: matmul (20 us), matmul (4 us).
// One kernel more has no launch. Times in ns.
class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    host_ = builder_.track("1", "1");
    stream_ = builder_.track("0", "7");
    annotation(0, 1000);
    op("aten::matmul", 10, 100);
    work(EventKind::kernel, "gemm", 20, 2'000, 10'000, 1);
    op("aten::masked_fill", 200, 100);
    work(EventKind::memcpy, "Memcpy DtoD (Device -> Device)", 210, 13'000, 2'000, 2);
    annotation(20'000, 1500);
    op("aten::matmul", 20'010, 100);
    work(EventKind::kernel, "gemm", 20'020, 22'000, 20'000, 3);
    op("aten::matmul", 20'200, 100);
    work(EventKind::kernel, "gemm", 20'210, 43'000, 4'000, 4);
    device(EventKind::kernel, "stray", 50'000, 7'000, 99);
    builder_.trace().source = "made.json";
    builder_.trace().format = "chrome_json";
    builder_.trace().stats.events = next_;
    builder_.skip("event without a name");
    trace_ = builder_.finish();
  }

  void add(trace::Event event) {
    event.source_index = static_cast<uint32_t>(100 + next_++);
    builder_.add(event);
  }
  void annotation(trace::Ns start, trace::Ns duration) {
    trace::Event event;
    event.kind = EventKind::annotation;
    event.name = "attn_fwd";
    event.track = host_;
    event.start = start;
    event.duration = duration;
    add(event);
  }
  void op(const char* name, trace::Ns start, trace::Ns duration) {
    trace::Event event;
    event.kind = EventKind::op;
    event.name = name;
    event.track = host_;
    event.start = start;
    event.duration = duration;
    add(event);
  }
  void device(EventKind kind, const char* name, trace::Ns start, trace::Ns duration, uint64_t correlation) {
    trace::DeviceDetail detail;
    detail.device = 0;
    detail.stream = 7;
    detail.registers = 32;
    detail.grid = {4, 1, 1};
    detail.block = {128, 1, 1};
    trace::Event event;
    event.kind = kind;
    event.name = name;
    event.track = stream_;
    event.start = start;
    event.duration = duration;
    event.correlation = correlation;
    event.device = &detail;
    add(event);
  }
  void work(EventKind kind, const char* name, trace::Ns launch, trace::Ns start, trace::Ns duration,
            uint64_t correlation) {
    trace::Event event;
    event.kind = EventKind::runtime_call;
    event.name = "cudaLaunchKernel";
    event.track = host_;
    event.start = launch;
    event.duration = 10;
    event.correlation = correlation;
    add(event);
    device(kind, name, start, duration, correlation);
  }

  trace::TraceBuilder builder_;
  uint32_t host_ = 0, stream_ = 0;
  uint64_t next_ = 0;
  trace::Trace trace_;
};

TEST_F(ExplainTest, SpreadsOverRuns) {
  const auto analysis = analysis::analyze(trace_);
  const ExplainReport report = explain(analysis, {});
  ASSERT_EQ(report.forwards.size(), 1U);
  const ForwardRow& row = report.forwards[0];
  EXPECT_EQ(row.range, "attn_fwd");
  EXPECT_EQ(row.runs, 2);
  EXPECT_EQ(row.kernels.min, 1);
  EXPECT_EQ(row.kernels.max, 2);
  EXPECT_EQ(row.memcpy.min, 0);
  EXPECT_EQ(row.memcpy.max, 1);
  EXPECT_TRUE(row.memset.same());
  EXPECT_EQ(row.device_ns.min, 12'000);
  EXPECT_EQ(row.device_ns.max, 24'000);
  EXPECT_EQ(row.host_ns.min, 1000);
  EXPECT_EQ(row.host_ns.max, 1500);
}

TEST_F(ExplainTest, SequenceIsTheFirstRunInLaunchOrder) {
  const auto analysis = analysis::analyze(trace_);
  const ExplainReport report = explain(analysis, {});
  const auto& steps = report.forwards.at(0).sequence;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].op, "aten::matmul");
  EXPECT_EQ(steps[0].kind, "kernel");
  EXPECT_EQ(steps[0].device_ns, 10'000);
  EXPECT_EQ(steps[1].op, "aten::masked_fill");
  EXPECT_EQ(steps[1].kind, "memcpy");
  EXPECT_EQ(steps[1].family, "memcpy");
  for (const Step& step : steps) {
    EXPECT_EQ(report.kernels.at(step.row).op, step.op);
    EXPECT_GE(step.event, 100);
  }
}

// A kernel that the program launched itself, beside ops, and one whose launch the trace lacks.
TEST(Explain, KnowsWhatWasLaunchedByNoOp) {
  trace::TraceBuilder builder;
  const uint32_t host = builder.track("1", "1"), stream = builder.track("0", "7");
  trace::DeviceDetail detail;
  detail.stream = 7;
  trace::Event call;
  call.kind = EventKind::runtime_call;
  call.name = "cudaLaunchKernel";
  call.track = host;
  call.start = 10;
  call.duration = 5;
  call.correlation = 1;
  builder.add(call);
  for (const uint64_t correlation : {1, 2}) {
    trace::Event kernel;
    kernel.kind = EventKind::kernel;
    kernel.name = correlation == 1 ? "mine" : "stray";
    kernel.track = stream;
    kernel.start = 100 * static_cast<trace::Ns>(correlation);
    kernel.duration = 50;
    kernel.correlation = correlation;
    kernel.device = &detail;
    builder.add(kernel);
  }
  const trace::Trace trace = builder.finish();
  const auto analysis = analysis::analyze(trace);
  const ExplainReport report = explain(analysis, {});
  ASSERT_EQ(report.forwards.size(), 1U);
  ASSERT_EQ(report.forwards[0].sequence.size(), 2U);
  for (const Step& step : report.forwards[0].sequence) {
    EXPECT_EQ(step.op, "");
    EXPECT_EQ(step.launched, step.readable == "mine") << step.readable;
  }
  for (const KernelRow& row : report.kernels) EXPECT_EQ(row.launched, row.name == "mine") << row.name;
}

TEST_F(ExplainTest, GroupsByMedianOverRuns) {
  const auto analysis = analysis::analyze(trace_);
  const ExplainReport report = explain(analysis, {});
  ASSERT_EQ(report.kernels.size(), 2U);
  EXPECT_EQ(report.kernels[0].name, "gemm");
  EXPECT_EQ(report.kernels[0].calls, 1);  // 1 and 2: the lower median
  EXPECT_EQ(report.kernels[0].device_ns, 10'000);
  EXPECT_EQ(report.kernels[0].registers, 32);
  EXPECT_EQ(report.kernels[0].block, "128x1x1");
  EXPECT_EQ(report.kernels[0].grid, "4x1x1");
  EXPECT_FALSE(report.kernels[0].occupancy.has_value());  // nothing said of the device, nothing reported
}

TEST_F(ExplainTest, AccountsForEveryDeviceEvent) {
  const auto analysis = analysis::analyze(trace_);
  const Statistics numbers = explain(analysis, {}).statistics;
  EXPECT_EQ(numbers.device_events, 5U);
  EXPECT_EQ(numbers.device_ns, 43'000);
  EXPECT_EQ(numbers.unattributed_device_events, 1U);
  EXPECT_EQ(numbers.unattributed_device_ns, 7'000);
  EXPECT_EQ(numbers.unlinked_device_events, 1U);
  EXPECT_EQ(numbers.skipped, 1U);
  ASSERT_EQ(numbers.skipped_reasons.size(), 1U);
}

TEST_F(ExplainTest, SpanIsFromFirstToLastEvent) {
  EXPECT_EQ(explain(analysis::analyze(trace_), {}).trace.span_ns, 57'000);
}

TEST_F(ExplainTest, EvidenceIsToldInTheSourcesNumbers) {
  const auto analysis = analysis::analyze(trace_);
  analysis::rules::Finding finding;
  finding.rule = "hidden_copy";
  finding.events = {analysis.forwards.at(0).runs.at(0).work.at(1)};
  const auto rows = finding_rows(analysis, {finding});
  ASSERT_EQ(rows.at(0).evidence.size(), 1U);
  const Evidence& item = rows[0].evidence[0];
  EXPECT_EQ(item.op, "aten::masked_fill");
  EXPECT_EQ(item.duration_ns, 2'000);
  EXPECT_EQ(item.start_ns, 13'000);
  EXPECT_EQ(rows[0].events, std::vector<int64_t>{item.event});
  EXPECT_EQ(trace_.source_index[finding.events[0]], item.event);
}

TEST(Spread, TheMedianOccurred) {
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 2);
  EXPECT_EQ(spread_of({5}).max, 5);
  EXPECT_EQ(spread_of({3, 1, 2}).median, 2);
  EXPECT_TRUE(spread_of({2, 2}).same());
}

}  // namespace
}  // namespace hunch::report
