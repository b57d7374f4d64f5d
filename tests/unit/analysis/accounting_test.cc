// Accounting of a run's wall time: each part has its cause, and the parts add up to the whole.
#include "hunch/analysis/accounting.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "hand_made.h"

namespace hunch::analysis {
namespace {

using Kind = trace::EventKind;

// Slices cover [start, end] without gaps or overlaps, and the totals are theirs.
void expect_exact(const Accounting& accounting, const ForwardRun& run) {
  Ns at = accounting.start;
  std::array<Ns, kParts> total = {};
  for (const Slice& slice : accounting.slices) {
    EXPECT_EQ(slice.start, at);
    EXPECT_LT(slice.start, slice.end);
    at = slice.end;
    total[static_cast<std::size_t>(slice.part)] += slice.end - slice.start;
  }
  EXPECT_EQ(at, accounting.end);
  EXPECT_EQ(total, accounting.total);
  EXPECT_EQ(std::accumulate(total.begin(), total.end(), Ns{0}), accounting.whole());
  EXPECT_EQ(accounting.of(Part::busy), run.busy_ns);
}

TEST(Accounting, EveryCauseOnce) {
  HandMade made;
  made.range("before", 0, 50);
  made.range("fwd", 100, 300);
  made.call(1, 10, 12);
  made.call(2, 120, 130);
  made.call(0, 160, 190, "1", "100", Kind::runtime_call, "cudaStreamSynchronize");
  made.call(3, 200, 210);
  made.kernel(1, 90, 110);  // the run before is still on the device
  made.kernel(2, 140, 170);
  const auto last = made.kernel(3, 225, 240);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards.at(1).runs.at(0);
  const auto accounting = account(analysis, run);
  expect_exact(accounting, run);
  EXPECT_EQ(accounting.whole(), 200'000);
  EXPECT_EQ(accounting.of(Part::busy_other), 10'000);   // 100..110
  EXPECT_EQ(accounting.of(Part::wait_host), 20'000);    // 110..120, 190..200
  EXPECT_EQ(accounting.of(Part::wait_launch), 20'000);  // 120..130, 200..210
  EXPECT_EQ(accounting.of(Part::wait_device), 25'000);  // 130..140, 210..225
  EXPECT_EQ(accounting.of(Part::wait_sync), 20'000);    // 170..190
  EXPECT_EQ(accounting.of(Part::busy), 45'000);
  EXPECT_EQ(accounting.of(Part::after_work), 60'000);  // 240..300
  EXPECT_EQ(accounting.of(Part::unknown), 0);
  EXPECT_EQ(accounting.host_bound(), 60'000);
  EXPECT_EQ(accounting.idle(), 145'000);
  const auto& after_sync = accounting.slices.at(6);
  EXPECT_EQ(after_sync.part, Part::wait_host);
  EXPECT_EQ(after_sync.next, last);
}

TEST(Accounting, TheWholeEndsWithTheLastDeviceWork) {
  HandMade made;
  made.range("fwd", 100, 150);
  made.call(1, 110, 112);
  made.kernel(1, 120, 400);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards.at(0).runs.at(0);
  const auto accounting = account(analysis, run);
  expect_exact(accounting, run);
  EXPECT_EQ(accounting.whole(), 300'000);
  EXPECT_EQ(accounting.of(Part::after_work), 0);
}

TEST(Accounting, DeviceWorkBeforeItsRangeByClockSkew) {
  HandMade made;
  made.range("fwd", 100, 150);
  made.call(1, 100, 112);
  made.kernel(1, 99.6, 120);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards.at(0).runs.at(0);
  const auto accounting = account(analysis, run);
  expect_exact(accounting, run);
  EXPECT_EQ(accounting.whole(), 50'400);
}

TEST(Accounting, ARunWithoutDeviceWork) {
  HandMade made;
  made.range("fwd", 100, 150);
  made.call(0, 110, 130, "1", "100", Kind::runtime_call, "cudaDeviceSynchronize");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards.at(0).runs.at(0);
  const auto accounting = account(analysis, run);
  expect_exact(accounting, run);
  EXPECT_EQ(accounting.of(Part::wait_sync), 20'000);
  EXPECT_EQ(accounting.of(Part::after_work), 30'000);
}

TEST(Accounting, WorkThatTookNoTimeEndsAGap) {
  HandMade made;
  made.range("fwd", 0, 100);
  made.call(1, 10, 12);
  made.call(2, 50, 52);
  const auto empty = made.kernel(1, 20, 20);
  made.kernel(2, 60, 70);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards.at(0).runs.at(0);
  const auto accounting = account(analysis, run);
  expect_exact(accounting, run);
  EXPECT_EQ(accounting.slices.at(0).next, empty);
  EXPECT_EQ(accounting.of(Part::wait_host), 10'000 + 30'000);
  EXPECT_EQ(accounting.of(Part::wait_device), 8'000 + 8'000);
}

TEST(Accounting, WholeTraceWithUnlinkedWork) {
  HandMade made;
  made.op("aten::mul", 0, 50);
  made.kernel(7, 60, 70);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto& run = analysis.forwards.at(0).runs.at(0);
  const auto accounting = account(analysis, run);
  expect_exact(accounting, run);
  EXPECT_EQ(accounting.of(Part::unknown), 60'000);
}

TEST(Accounting, AddsUpOnRandomRuns) {
  std::mt19937 random(1);
  const auto pick = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    HandMade made;
    made.range("fwd", 100, 100 + pick(0, 400));
    made.range("fwd", 600, 600 + pick(0, 400));
    for (uint64_t correlation = 1; correlation <= 20; ++correlation) {
      const int at = pick(0, 1000);
      if (pick(0, 9) > 0) made.call(correlation, at, at + pick(0, 20));
      const int start = at + pick(-2, 100);
      made.kernel(correlation, std::max(0, start), std::max(0, start) + pick(0, 60), "k", "0",
                  pick(0, 3) == 0);
      if (pick(0, 4) == 0) {
        const int wait = pick(0, 1000);
        made.call(0, wait, wait + pick(0, 50), "1", "100", Kind::runtime_call, "cudaStreamSynchronize");
      }
    }
    const auto trace = made.finish();
    const auto analysis = analyze(trace);
    for (const auto& run : analysis.forwards.at(0).runs) expect_exact(account(analysis, run), run);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace hunch::analysis
