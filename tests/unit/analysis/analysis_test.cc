// Forwards on traces made by hand: which work belongs to which run, what is counted, and whose op it was.
#include "hunch/analysis/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "hand_made.h"

namespace hunch::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = trace::EventKind;

// A launch call of 2 us on a thread, and its kernel.
EventId launch(HandMade& made, uint64_t correlation, double at, double kernel_start, double kernel_end,
               std::string_view tid = "1", std::string_view name = "some_kernel") {
  made.call(correlation, at, at + 2, tid);
  return made.kernel(correlation, kernel_start, kernel_end, name);
}

TEST(Forwards, WorkBelongsToTheRunThatLaunchedItHoweverLateItRuns) {
  HandMade made;
  made.range("fwd", 0, 100);
  made.range("fwd", 200, 300);
  const auto first = launch(made, 1, 10, 250, 260);  // runs while the second run is on
  const auto second = launch(made, 2, 210, 400, 410);
  const auto between = launch(made, 3, 150, 260, 270);
  const auto orphan = made.kernel(99, 20, 30);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  ASSERT_EQ(analysis.forwards.size(), 1u);
  const auto& forward = analysis.forwards[0];
  EXPECT_EQ(forward.range, "fwd");
  EXPECT_EQ(forward.source, ForwardSource::annotation);
  ASSERT_EQ(forward.runs.size(), 2u);
  EXPECT_THAT(forward.runs[0].work, ElementsAre(first));
  EXPECT_THAT(forward.runs[1].work, ElementsAre(second));
  EXPECT_THAT(analysis.unattributed, ElementsAre(orphan, between));
  EXPECT_EQ(analysis.timeline.unlinked, 1u);
}

TEST(Forwards, BothEndsOfTheRangeAreInIt) {
  HandMade made;
  made.range("fwd", 100, 200);
  const auto at_start = launch(made, 1, 100, 300, 301);
  const auto at_end = launch(made, 2, 200, 302, 303);
  const auto after = launch(made, 3, 200.001, 304, 305);
  const auto before = launch(made, 4, 99.999, 306, 307);  // ends inside; its start counts
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(at_start, at_end));
  EXPECT_THAT(analysis.unattributed, ElementsAre(after, before));
}

TEST(Forwards, NestedRangesCountInTheirParentsAndStepsDoNotCountBesideThem) {
  HandMade made;
  made.host(Kind::step, "ProfilerStep#1", 0, 1000);
  made.range("model", 10, 500);
  made.range("attn", 20, 100);
  made.range("attn", 200, 300);
  made.range("Optimizer.step#AdamW.step", 600, 700);
  const auto in_attn = launch(made, 1, 30, 40, 50);
  const auto in_model = launch(made, 2, 150, 160, 170);
  const auto in_optimizer = launch(made, 3, 610, 620, 640);
  made.host(Kind::device_annotation, "model", 0, 2000, "7", "0");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  ASSERT_EQ(analysis.forwards.size(), 3u);
  EXPECT_EQ(analysis.forwards[0].range, "model");
  EXPECT_EQ(analysis.forwards[1].range, "attn");
  EXPECT_EQ(analysis.forwards[2].range, "Optimizer.step#AdamW.step");
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(in_attn, in_model));
  ASSERT_EQ(analysis.forwards[1].runs.size(), 2u);
  EXPECT_THAT(analysis.forwards[1].runs[0].work, ElementsAre(in_attn));
  EXPECT_THAT(analysis.forwards[1].runs[1].work, IsEmpty());
  EXPECT_THAT(analysis.forwards[2].runs[0].work, ElementsAre(in_optimizer));
  EXPECT_THAT(analysis.unattributed, IsEmpty());
}

TEST(Forwards, StepsWhereThereAreNoAnnotations) {
  HandMade made;
  made.host(Kind::step, "ProfilerStep#3", 0, 100);
  made.host(Kind::step, "ProfilerStep#4", 100.5, 200);
  launch(made, 1, 10, 20, 30);
  launch(made, 2, 110, 120, 130);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  ASSERT_EQ(analysis.forwards.size(), 1u);
  EXPECT_EQ(analysis.forwards[0].range, "ProfilerStep");
  EXPECT_EQ(analysis.forwards[0].source, ForwardSource::step);
  ASSERT_EQ(analysis.forwards[0].runs.size(), 2u);
  EXPECT_EQ(analysis.forwards[0].runs[0].kernels, 1);
  EXPECT_EQ(analysis.forwards[0].runs[1].kernels, 1);
}

TEST(Forwards, TheWholeTraceWhereThereAreNeither) {
  HandMade made;
  const auto leaked_early = made.kernel(50, 1, 5);     // before every host event
  const auto leaked_late = made.kernel(60, 120, 125);  // older than every call by its number
  made.op("aten::mul", 100, 130);
  const auto second = launch(made, 102, 112, 150, 160);
  const auto first = launch(made, 101, 105, 140, 145);
  const auto unlinked =
      made.kernel(103, 170, 180, "other_kernel");  // launched by a call that the profiler did not record
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  ASSERT_EQ(analysis.forwards.size(), 1u);
  EXPECT_EQ(analysis.forwards[0].source, ForwardSource::whole_trace);
  ASSERT_EQ(analysis.forwards[0].runs.size(), 1u);
  EXPECT_EQ(analysis.forwards[0].runs[0].range, kNone);
  EXPECT_EQ(analysis.forwards[0].runs[0].host_ns, 30'000);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(first, second, unlinked));
  EXPECT_THAT(analysis.unattributed, ElementsAre(leaked_early, leaked_late));
}

TEST(Forwards, DeviceOnlyTraceIsOneForward) {
  HandMade made;
  const auto a = made.kernel(1, 10, 20);
  const auto b = made.kernel(2, 30, 40, "other_kernel");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards.at(0).runs.at(0).work, ElementsAre(a, b));
  EXPECT_THAT(analysis.unattributed, IsEmpty());
}

TEST(Forwards, EmptyTrace) {
  const trace::Trace trace;
  const auto analysis = analyze(trace);
  ASSERT_EQ(analysis.forwards.size(), 1u);
  EXPECT_EQ(analysis.forwards[0].runs.at(0).kernels, 0);
  EXPECT_EQ(analysis.forwards[0].backend, "");
}

TEST(Forwards, CountsAndTimes) {
  HandMade made;
  made.range("fwd", 0, 100);
  for (uint64_t i = 1; i <= 5; ++i)
    made.call(i, 10.0 * static_cast<double>(i), 10.0 * static_cast<double>(i) + 1);
  made.kernel(1, 100, 110);
  made.kernel(2, 105, 115);  // overlaps by 5
  made.kernel(3, 106, 107);  // inside
  made.device_work(Kind::memcpy, 4, 120, 130, "Memcpy DtoD (Device -> Device)");
  made.device_work(Kind::memset, 5, 140, 141, "Memset (Device)");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards[0].runs[0];
  EXPECT_EQ(run.kernels, 3);
  EXPECT_EQ(run.memcpys, 1);
  EXPECT_EQ(run.memsets, 1);
  EXPECT_EQ(run.device_ns, 32'000);
  EXPECT_EQ(run.busy_ns, 26'000);
  EXPECT_EQ(run.device_span_ns, 41'000);
  EXPECT_EQ(run.host_ns, 100'000);
  EXPECT_FALSE(run.peak_bytes);
  EXPECT_EQ(analysis.facts_of(run.work[3]).family, Family::memcpy);
  EXPECT_EQ(analysis.facts_of(run.work[4]).family, Family::memset);
}

TEST(Forwards, PeakMemoryIsAboveWhatTheRunBeganWith) {
  HandMade made;
  made.range("fwd", 100, 200);
  made.range("idle", 210, 220);
  made.memory(50, 1000, 5000);
  made.memory(110, 300, 5300);
  made.memory(120, 700, 6000);
  made.memory(130, -900, 5100);
  made.memory(140, 64, 64, -1);  // host memory
  made.memory(150, 40, 140, 1);  // a second device, which had 100 all along
  made.memory(160, 700, 840, 1);
  made.memory(300, 9000, 14100);             // after the run
  made.memory(150, 77777, 99999, 0, "200");  // another process
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_EQ(analysis.forwards[0].runs[0].peak_bytes, 1000) << "5000 + 100 at the start, 6000 + 100 at 120";
  EXPECT_EQ(analysis.forwards[1].runs[0].peak_bytes, 0);
}

TEST(Threads, BackwardThreadBelongsToTheRangeAroundBackward) {
  HandMade made;
  made.host(Kind::step, "ProfilerStep#1", 0, 500);
  made.range("fwd", 10, 100);
  made.range("bwd", 200, 400);
  made.op("autograd::engine::evaluate_function: MulBackward0", 250, 300, "2");
  const auto backward = launch(made, 1, 260, 270, 280, "2");
  const auto outside = launch(made, 2, 150, 160, 170, "2");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, IsEmpty());
  EXPECT_THAT(analysis.forwards[1].runs[0].work, ElementsAre(backward));
  EXPECT_THAT(analysis.unattributed, ElementsAre(outside));
  EXPECT_EQ(analysis.outer_op(backward), "autograd::engine::evaluate_function: MulBackward0");
}

TEST(Threads, OtherProcessesAreNoneOfThem) {
  HandMade made;
  made.range("bwd", 200, 400, "1", "100");
  made.call(1, 260, 262, "2", "200");
  const auto kernel = made.kernel(1, 270, 280);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, IsEmpty());
  EXPECT_THAT(analysis.unattributed, ElementsAre(kernel));
}

TEST(Threads, TwoAnnotatedThreadsKeepTheirOwn) {
  HandMade made;
  made.range("a", 0, 100, "1");
  made.range("b", 0, 100, "2");
  const auto in_a = launch(made, 1, 10, 20, 30, "1");
  const auto in_b = launch(made, 2, 15, 30, 40, "2");
  const auto neither = launch(made, 3, 150, 160, 170, "2");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(in_a));
  EXPECT_THAT(analysis.forwards[1].runs[0].work, ElementsAre(in_b));
  EXPECT_THAT(analysis.unattributed, ElementsAre(neither));
}

// Two threads run forward and backward at once; one autograd thread works for both.
HandMade two_trainers() {
  HandMade made;
  made.range("train_a", 0, 1000, "1");
  made.range("train_b", 0, 1000, "2");
  made.numbered_op("aten::mul", 10, 20, "1", 5, 0);
  made.numbered_op("aten::mul", 10, 20, "2", 8, 0);
  made.numbered_op("autograd::engine::evaluate_function: MulBackward0", 100, 120, "3", 8, 2);
  made.numbered_op("autograd::engine::evaluate_function: MulBackward0", 200, 220, "3", 5, 1);
  return made;
}

TEST(Threads, SequenceNumbersNameTheThreadWhereSeveralHaveRanges) {
  HandMade made = two_trainers();
  const auto of_b = launch(made, 1, 110, 115, 118, "3");
  const auto of_a = launch(made, 2, 210, 215, 218, "3");
  const auto unnumbered = launch(made, 3, 300, 305, 308, "3");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(of_a));
  EXPECT_THAT(analysis.forwards[1].runs[0].work, ElementsAre(of_b));
  EXPECT_THAT(analysis.unattributed, ElementsAre(unnumbered));
}

TEST(Threads, EqualSequenceNumbersOfTwoThreadsSettleNothing) {
  HandMade made = two_trainers();
  made.numbered_op("aten::mul", 30, 40, "1", 8, 0);  // now thread 1 has number 8 as well
  const auto either = launch(made, 1, 110, 115, 118, "3");
  const auto of_a = launch(made, 2, 210, 215, 218, "3");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(of_a));
  EXPECT_THAT(analysis.forwards[1].runs[0].work, IsEmpty());
  EXPECT_THAT(analysis.unattributed, ElementsAre(either));
}

TEST(Threads, BackwardThreadWithARangeOfItsOwn) {
  HandMade made;  // as a gradient hook makes one for its collective
  made.range("train_step", 0, 1000, "1");
  made.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 100, 300, "2");
  made.range("nccl:all_reduce", 150, 200, "2");
  const auto gradient = launch(made, 1, 110, 120, 130, "2");
  const auto collective = launch(made, 2, 160, 170, 180, "2");
  const auto finish = launch(made, 3, 400, 410, 420, "2");  // the engine's last callback
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_EQ(analysis.forwards[0].range, "train_step");
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(gradient, collective, finish));
  EXPECT_THAT(analysis.forwards[1].runs[0].work, ElementsAre(collective));
  EXPECT_THAT(analysis.unattributed, IsEmpty());
}

TEST(Threads, AThreadWithItsOwnStepsIsNobodysBackwardThread) {
  HandMade made;
  made.range("train_step", 0, 1000, "1");
  made.host(Kind::step, "ProfilerStep#1", 0, 90, "2");
  made.op("autograd::engine::evaluate_function: MulBackward0", 100, 300, "2");
  const auto kernel = launch(made, 1, 110, 120, 130, "2");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, IsEmpty());
  EXPECT_THAT(analysis.unattributed, ElementsAre(kernel));
}

TEST(Threads, EngineInsideARangeOfItsOwnThreadWorksForThatRangeOnly) {
  HandMade made;
  made.range("mine", 0, 1000, "1");
  made.range("other", 0, 1000, "2");
  made.op("autograd::engine::evaluate_function: MulBackward0", 100, 300, "1");
  const auto kernel = launch(made, 1, 110, 120, 130, "1");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_THAT(analysis.forwards[0].runs[0].work, ElementsAre(kernel));
  EXPECT_THAT(analysis.forwards[1].runs[0].work, IsEmpty());
}

TEST(Ops, OuterAndInnerUnderTheInnermostRange) {
  HandMade made;
  made.op("whole_model", 0, 1000);
  made.range("fwd", 10, 900);
  made.op("aten::masked_fill", 20, 200);
  made.host(Kind::python_frame, "frame", 25, 190);
  made.op("aten::clone", 30, 100);
  made.op("aten::copy_", 40, 90);
  made.call(1, 50, 55, "1", "100", Kind::runtime_call, "cudaMemcpyAsync");
  const auto copy = made.device_work(Kind::memcpy, 1, 60, 70, "Memcpy DtoD (Device -> Device)");
  made.range("bare", 300, 400);
  const auto bare = launch(made, 2, 310, 320, 330);
  made.range("inside", 150, 180);
  const auto inside = launch(made, 3, 160, 170, 180);
  const auto orphan = made.kernel(9, 500, 510);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  EXPECT_EQ(analysis.outer_op(copy), "aten::masked_fill");
  EXPECT_EQ(analysis.inner_op(copy), "aten::copy_");
  EXPECT_EQ(analysis.outer_op(bare), "whole_model") << "neither range around it holds an op";
  EXPECT_EQ(analysis.outer_op(inside), "aten::masked_fill")
      << "the range around it holds none, the next does";
  EXPECT_EQ(analysis.outer_op(orphan), "");
  EXPECT_EQ(analysis.inner_op(orphan), "");
}

TEST(Forwards, OrderOfRowsDoesNotMatter) {
  // The same events in 20 shuffled orders: the same counts, and the same sequence of names.
  std::mt19937 random(7);
  std::vector<std::string> expected;
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order(60);
    std::iota(order.begin(), order.end(), 0);
    if (round > 0) std::shuffle(order.begin(), order.end(), random);
    HandMade made;
    for (const int i : order) {
      const double at = (i / 3) * 10.0;
      if (i % 3 == 0) made.range("fwd", at, at + 9);
      if (i % 3 == 1) made.call(static_cast<uint64_t>(i / 3 + 1), at + 1, at + 2);
      if (i % 3 == 2) made.kernel(static_cast<uint64_t>(i / 3), at + 3, at + 5, "k" + std::to_string(i / 3));
    }
    const auto trace = made.finish();
    const auto analysis = analyze(trace);
    std::vector<std::string> seen;
    for (const auto& run : analysis.forwards.at(0).runs)
      for (const EventId work : run.work) seen.emplace_back(trace.name_of(work));
    if (round == 0) expected = seen;
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(seen.size(), 19u);
    EXPECT_EQ(analysis.unattributed.size(), 1u);
  }
}

}  // namespace
}  // namespace hunch::analysis
