// Nesting and launch links on traces made by hand: what encloses what, and who launched what.
#include "hunch/analysis/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "hand_made.h"
#include "hunch/analysis/natural_sort.h"

namespace hunch::analysis {
namespace {

using Kind = trace::EventKind;

TEST(Nesting, InnermostEnclosingEventOfTheSameThread) {
  HandMade made;
  const auto outer = made.op("outer", 0, 100);
  const auto inner = made.op("inner", 10, 50);
  const auto call = made.call(1, 20, 25);
  const auto after = made.op("after", 50, 60);  // starts where inner ends: beside it
  const auto elsewhere = made.op("elsewhere", 20, 30, "2");
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.parent[outer], kNone);
  EXPECT_EQ(timeline.parent[inner], outer);
  EXPECT_EQ(timeline.parent[call], inner);
  EXPECT_EQ(timeline.parent[after], outer);
  EXPECT_EQ(timeline.parent[elsewhere], kNone);
}

TEST(Nesting, SameStartLongerOutsideAndSameSpanByKind) {
  HandMade made;
  const auto call = made.call(1, 0, 10);
  const auto op = made.op("op", 0, 10);
  const auto range = made.range("range", 0, 10);
  const auto step = made.host(Kind::step, "ProfilerStep#1", 0, 10);
  const auto longer = made.op("longer", 0, 11);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.parent[longer], kNone);
  EXPECT_EQ(timeline.parent[step], longer);
  EXPECT_EQ(timeline.parent[range], step);
  EXPECT_EQ(timeline.parent[op], range);
  EXPECT_EQ(timeline.parent[call], op);
}

TEST(Nesting, TheOpBefore) {
  HandMade made;
  const auto last = made.op("last", 70, 80);  // the order of rows does not matter
  const auto parent = made.op("parent", 0, 100);
  const auto first = made.op("first", 10, 30);
  const auto inside = made.op("inside", 12, 28);
  const auto second = made.op("second", 30, 40);
  const auto call = made.call(1, 45, 50);
  const auto third = made.op("third", 60, 68);
  const auto next = made.op("next", 200, 210);
  const auto other = made.op("other", 205, 206, "2");
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  const auto before = [&](EventId op) { return previous_op(trace, timeline, op); };
  EXPECT_EQ(before(last), third);
  EXPECT_EQ(before(third), second);  // over the call
  EXPECT_EQ(before(second), first);
  EXPECT_EQ(before(first), kNone);
  EXPECT_EQ(before(inside), kNone);
  EXPECT_EQ(before(next), parent);
  EXPECT_EQ(before(parent), kNone);
  EXPECT_EQ(before(other), kNone);
  EXPECT_EQ(timeline.parent[call], parent);
}

TEST(Nesting, SmallOverhangNestsLargeCrossingDoesNot) {
  HandMade made;
  const auto parent = made.op("parent", 0, 100);
  const auto overhang = made.op("overhang", 90, 105);  // 5 us past the end
  const auto within = made.call(1, 101, 104);
  const auto parent2 = made.op("parent2", 200, 300);
  const auto crossing = made.op("crossing", 290, 306);  // 6 us past it
  const auto both = made.call(2, 292, 294);
  const auto later = made.call(3, 301, 302);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.parent[overhang], parent);
  EXPECT_EQ(timeline.parent[within], overhang);
  EXPECT_EQ(timeline.parent[crossing], kNone);
  EXPECT_EQ(timeline.parent[parent2], kNone);
  EXPECT_EQ(timeline.parent[both], crossing);
  EXPECT_EQ(timeline.parent[later], crossing);
}

TEST(Nesting, PythonFrameThatEndsWithTheProfilerHidesNoOp) {
  HandMade made;
  const auto op = made.op("aten::custom", 0, 100);
  const auto frame = made.host(Kind::python_frame, "<built-in method f>", 10, 5000);
  const auto inner = made.op("aten::mul", 20, 40);
  const auto next = made.op("aten::add", 120, 140);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.parent[frame], op);
  EXPECT_EQ(timeline.parent[inner], frame);
  EXPECT_EQ(timeline.parent[next], kNone) << "the frame counts as closed with the op around it";
}

TEST(Nesting, EventsThatTakeNoTime) {
  HandMade made;
  const auto op = made.op("op", 0, 10);
  const auto at_start = made.call(1, 0, 0);
  const auto at_end = made.call(2, 10, 10);
  const auto empty_op = made.op("empty", 20, 20);
  const auto empty_op2 = made.op("empty2", 20, 20);
  const auto call_in_empty = made.call(3, 20, 20);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.parent[at_start], op);
  EXPECT_EQ(timeline.parent[at_end], op);
  EXPECT_EQ(timeline.parent[empty_op], kNone);
  EXPECT_EQ(timeline.parent[empty_op2], kNone) << "two ops at one instant are no parent and child";
  EXPECT_EQ(timeline.parent[call_in_empty], empty_op2);
}

TEST(Nesting, DeviceWorkAndItsShadowsHaveNoParent) {
  HandMade made;
  made.op("op", 0, 100, "7", "0");  // a host event on the device's own track
  const auto kernel = made.kernel(1, 10, 20);
  const auto shadow = made.host(Kind::device_annotation, "fwd", 5, 30, "7", "0");
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.parent[kernel], kNone);
  EXPECT_EQ(timeline.parent[shadow], kNone);
}

TEST(Links, ByCorrelationWhateverTheCallIsNamedAndWhateverTheExternalIdsSay) {
  HandMade made;
  made.external_id = 7;
  made.op("wrong", 0, 10);
  made.external_id = 9;
  const auto right = made.op("right", 20, 40);
  made.external_id = 0;
  const auto call = made.call(55, 25, 30, "1", "100", Kind::driver_call, "cuLaunchKernelNew");
  made.external_id = 7;                       // misleads: the op of that id did not launch it
  const auto kernel = made.kernel(55, 5, 8);  // and it even starts before its launch
  const auto orphan = made.kernel(56, 26, 28);
  const auto no_correlation = made.kernel(0, 27, 29);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.launch[kernel], call);
  EXPECT_EQ(launching_op(trace, timeline, kernel), right);
  EXPECT_EQ(timeline.launch[orphan], kNone);
  EXPECT_EQ(timeline.launch[no_correlation], kNone);
  EXPECT_EQ(timeline.unlinked, 2u);
  EXPECT_TRUE(op_stack(trace, timeline, orphan).empty());
  EXPECT_EQ(launching_op(trace, timeline, orphan), kNone);
}

TEST(Links, RuntimeWinsOverDriver) {
  HandMade made;
  made.call(5, 12, 14, "1", "100", Kind::driver_call, "cuLaunchKernel");
  const auto runtime = made.call(5, 10, 20);
  made.call(5, 15, 16, "1", "100", Kind::driver_call, "cuLaunchKernel");
  const auto kernel = made.kernel(5, 30, 40);
  const auto trace = made.finish();
  EXPECT_EQ(build_timeline(trace).launch[kernel], runtime);
}

TEST(Links, ManyKernelsOfOneGraphLaunch) {
  HandMade made;
  const auto op = made.op("replay", 0, 30);
  const auto call = made.call(9, 10, 20, "1", "100", Kind::runtime_call, "cudaGraphLaunch");
  std::vector<EventId> kernels;
  for (int i = 0; i < 100; ++i) kernels.push_back(made.kernel(9, 30 + i, 30.5 + i));
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  for (const EventId kernel : kernels) {
    EXPECT_EQ(timeline.launch[kernel], call);
    EXPECT_EQ(launching_op(trace, timeline, kernel), op);
  }
  EXPECT_EQ(timeline.unlinked, 0u);
}

TEST(Links, CorrelationsReusedInOneProcessGoToTheLastLaunchBefore) {
  HandMade made;
  const auto first = made.call(5, 10, 12);
  const auto second = made.call(5, 110, 112);
  const auto kernel1 = made.kernel(5, 20, 30);
  const auto kernel2 = made.kernel(5, 109.5, 130);  // clocks differ by half a microsecond
  const auto kernel0 = made.kernel(5, 1, 2);        // before both: the first
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.launch[kernel1], first);
  EXPECT_EQ(timeline.launch[kernel2], second);
  EXPECT_EQ(timeline.launch[kernel0], first);
}

TEST(Links, TwoProcessesByThePidOfTheDeviceTrack) {
  HandMade made;
  const auto call_a = made.call(5, 10, 12, "1", "100");
  const auto call_b = made.call(5, 10, 12, "1", "200");
  const auto kernel_a = made.kernel(5, 20, 30, "k", "100");
  const auto kernel_b = made.kernel(5, 20, 30, "k", "200");
  const auto lost = made.kernel(6, 20, 30, "k", "200");
  made.call(6, 13, 14, "1", "100");  // another process's
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.launch[kernel_a], call_a);
  EXPECT_EQ(timeline.launch[kernel_b], call_b);
  EXPECT_EQ(timeline.launch[lost], kNone);
}

TEST(Links, TwoProcessesByWhatOnlyOneCanHaveLaunched) {
  HandMade made;  // device tracks named by device number: 0 is process 100's, 1 is process 1's own device
  const auto call_a = made.call(5, 10, 12, "1", "100");
  const auto call_b = made.call(5, 10, 12, "1", "1");
  const auto only_a = made.call(6, 13, 14, "1", "100");
  const auto only_b = made.call(7, 13, 14, "1", "1");
  const auto shared_a = made.kernel(5, 20, 30, "k", "0", 0);
  const auto shared_b = made.kernel(5, 20, 30, "k", "1", 1);
  const auto single_a = made.kernel(6, 30, 31, "k", "0", 0);
  const auto single_b = made.kernel(7, 30, 31, "k", "1", 1);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.launch[single_a], only_a);
  EXPECT_EQ(timeline.launch[single_b], only_b);
  EXPECT_EQ(timeline.launch[shared_a], call_a);
  EXPECT_EQ(timeline.launch[shared_b], call_b);
}

TEST(Links, TwoProcessesThatCannotBeToldApartStayUnlinked) {
  HandMade made;
  made.call(5, 10, 12, "1", "100");
  made.call(5, 10, 12, "1", "200");
  made.call(6, 13, 14, "1", "100");
  made.call(7, 13, 14, "1", "200");
  const auto shared = made.kernel(5, 20, 30);
  made.kernel(6, 30, 31);  // one stream used by both
  made.kernel(7, 32, 33);
  const auto trace = made.finish();
  const auto timeline = build_timeline(trace);
  EXPECT_EQ(timeline.launch[shared], kNone);
  EXPECT_EQ(timeline.unlinked, 1u);
}

TEST(Links, SynchronizingCalls) {
  EXPECT_TRUE(is_synchronizing_call("cudaDeviceSynchronize"));
  EXPECT_TRUE(is_synchronizing_call("hipStreamSynchronize"));
  EXPECT_TRUE(is_synchronizing_call("cuEventSynchronize"));
  EXPECT_TRUE(is_synchronizing_call("cudaMemcpy"));
  EXPECT_TRUE(is_synchronizing_call("cuMemcpyDtoH_v2"));
  EXPECT_FALSE(is_synchronizing_call("cudaMemcpyAsync"));
  EXPECT_FALSE(is_synchronizing_call("cuMemcpyDtoD_v2"));
  EXPECT_FALSE(is_synchronizing_call("cudaLaunchKernel"));
  EXPECT_FALSE(is_synchronizing_call("cudaStreamWaitEvent"));
}

TEST(NaturalSort, SortsAnythingAndKeepsEqualsInOrder) {
  std::mt19937 random(20261130);
  for (int round = 0; round < 300; ++round) {
    const auto size = std::uniform_int_distribution<std::size_t>(0, 400)(random);
    const int stretches = std::uniform_int_distribution<int>(0, 6)(random);
    std::vector<int> key(size);
    for (auto& each : key) each = std::uniform_int_distribution<int>(0, round % 2 == 0 ? 20 : 100000)(random);
    for (int i = 0; i < stretches && size > 0; ++i) {
      auto from = std::uniform_int_distribution<std::size_t>(0, size - 1)(random);
      auto to = std::uniform_int_distribution<std::size_t>(from, size)(random);
      std::sort(key.begin() + static_cast<long>(from), key.begin() + static_cast<long>(to));
    }
    std::vector<uint32_t> ids(size), scratch;
    std::iota(ids.begin(), ids.end(), 0);
    auto expected = ids;
    const auto less = [&key](uint32_t a, uint32_t b) { return key[a] < key[b]; };
    std::stable_sort(expected.begin(), expected.end(), less);
    natural_sort(std::span<uint32_t>(ids), scratch, less);
    ASSERT_EQ(ids, expected) << "round " << round;
  }
}

// The slow and plain statement of the rule, without slack: the latest-started event that encloses this one.
TEST(Nesting, AgreesWithThePlainRuleOnShuffledRandomTrees) {
  std::mt19937 random(42);
  for (int round = 0; round < 50; ++round) {
    struct Span {
      int start, end, parent;
    };
    std::vector<Span> spans = {{0, 1 << 20, -1}};
    for (int i = 0; i < 200; ++i) {  // split a random span's inside, leaving more than the slack between
      const int parent = std::uniform_int_distribution<int>(0, static_cast<int>(spans.size()) - 1)(random);
      int low = spans[static_cast<std::size_t>(parent)].start,
          high = spans[static_cast<std::size_t>(parent)].end;
      for (const Span& s : spans)
        if (s.parent == parent) low = std::max(low, s.end);
      if (high - low < 100) continue;
      const int start = low + std::uniform_int_distribution<int>(6, (high - low) / 3)(random);
      const int end = start + std::uniform_int_distribution<int>(1, (high - start) / 2)(random);
      spans.push_back({start, end, parent});
    }
    std::vector<std::size_t> order(spans.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    HandMade made;
    std::vector<EventId> id(spans.size());
    for (const std::size_t i : order) id[i] = made.op("op", spans[i].start, spans[i].end);
    const auto trace = made.finish();
    const auto timeline = build_timeline(trace);
    for (std::size_t i = 0; i < spans.size(); ++i)
      ASSERT_EQ(timeline.parent[id[i]],
                spans[i].parent < 0 ? kNone : id[static_cast<std::size_t>(spans[i].parent)])
          << "round " << round << " span " << i;
  }
}

}  // namespace
}  // namespace hunch::analysis
