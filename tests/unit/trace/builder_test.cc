#include "hunch/trace/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch::trace {
namespace {

using testing::ElementsAre;

Event event(EventKind kind, std::string_view name, Ns start, Ns duration) {
  Event made;
  made.kind = kind;
  made.name = name;
  made.start = start;
  made.duration = duration;
  return made;
}

TEST(Builder, RowsTracksAndDetails) {
  TraceBuilder builder;
  const auto host = builder.track("1", "2");
  EXPECT_EQ(builder.track("1", "2"), host);
  EXPECT_NE(builder.track("12", ""), host);
  EXPECT_NE(builder.track("1", "23"), host);
  builder.name_track(host, "main");
  DeviceDetail device;
  device.registers = 40;
  OpDetail op;
  op.sequence_number = 4;
  auto kernel = event(EventKind::kernel, "k", 10, 5);
  kernel.device = &device;
  kernel.op = &op;
  auto host_op = event(EventKind::op, "o", 1, 20);
  host_op.op = &op;
  auto call = event(EventKind::runtime_call, "launch", 2, 3);
  call.device = &device;  // only device work has device details
  EXPECT_EQ(builder.add(kernel), 0u);
  EXPECT_EQ(builder.add(host_op), 1u);
  EXPECT_EQ(builder.add(call), 2u);
  builder.skip("event without a name");
  builder.skip("event without a name");
  const Trace trace = builder.finish();
  EXPECT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace.end(0), 15);
  EXPECT_EQ(trace.name_of(2), "launch");
  ASSERT_NE(trace.device_detail(0), nullptr);
  EXPECT_EQ(trace.device_detail(0)->registers, 40);
  EXPECT_EQ(trace.op_detail(0), nullptr);
  EXPECT_EQ(trace.op_detail(1)->sequence_number, 4);
  EXPECT_EQ(trace.device_detail(2), nullptr);
  EXPECT_EQ(trace.tracks[host].name, "main");
  EXPECT_EQ(trace.stats.skipped, 2u);
  EXPECT_EQ(trace.stats.reasons.at("event without a name"), 2u);
  EXPECT_EQ(builder.finish().size(), 0u);
}

TEST(Builder, PartsAreJoinedWithTheirNamesAndTracksFoundAgain) {
  TraceBuilder whole, part;
  TraceBuilder::Known known;
  whole.add(event(EventKind::other, "b", 1, 1));
  whole.track("1", "9");
  ++whole.trace().stats.events;
  const auto add = [&part](std::string_view name, std::string_view tid, std::string_view dims) {
    OpDetail op;
    op.input_dims = part.intern(dims);
    auto made = event(EventKind::op, name, 5, 1);
    made.track = part.track("1", tid);
    made.op = &op;
    made.source_index = static_cast<uint32_t>(part.trace().stats.events++);
    part.add(made);
  };
  add("a", "7", "[1]");
  add("b", "9", "[2]");
  part.skip("event without a name");
  whole.absorb(part.trace(), known);
  part.clear_rows();
  EXPECT_EQ(part.trace().size(), 0u);
  EXPECT_EQ(part.trace().stats.events, 0u);
  add("c", "8", "[2]");
  add("a", "7", "[3]");
  whole.absorb(part.trace(), known);
  const Trace trace = whole.finish();
  ASSERT_EQ(trace.size(), 5u);
  std::vector<std::string> names, dims, tids;
  for (EventId row = 0; row < 5; ++row) {
    names.emplace_back(trace.name_of(row));
    EXPECT_EQ(trace.strings.view(trace.name[row]), names.back());
    if (row == 0) continue;
    tids.push_back(trace.tracks[trace.track[row]].tid);
    dims.emplace_back(trace.strings.view(trace.op_detail(row)->input_dims));
  }
  EXPECT_THAT(names, ElementsAre("b", "a", "b", "c", "a"));
  EXPECT_THAT(tids, ElementsAre("7", "9", "8", "7"));
  EXPECT_THAT(dims, ElementsAre("[1]", "[2]", "[2]", "[3]"));
  EXPECT_THAT(trace.source_index, ElementsAre(0u, 1u, 2u, 3u, 4u));
  EXPECT_EQ(trace.name[1], trace.name[4]);
  EXPECT_EQ(trace.name[0], trace.name[2]);
  EXPECT_EQ(trace.tracks.size(), 3u);
  EXPECT_EQ(trace.stats.skipped, 1u);
}

TEST(Builder, TimesWhoseDifferencesAndSumsFit) {
  constexpr Ns kMost = 4'000'000'000'000'000'000, kWeek = Ns{7} * 24 * 3600 * 1'000'000'000;
  TraceBuilder fine;
  for (const Ns start : {-kMost, Ns{0}, kMost}) fine.add(event(EventKind::op, "a", start, kWeek));
  fine.keep_sums_in_range();
  EXPECT_EQ(fine.trace().size(), 3u);
  EXPECT_EQ(fine.trace().stats.skipped, 0u);

  TraceBuilder far;
  for (const Ns start : {-kMost - 1, Ns{5}, kMost + 1, INT64_MIN, INT64_MAX - kWeek})
    far.add(event(EventKind::op, "a", start, 1));
  far.add_memory({.time = kMost + 1});
  far.add_memory({.time = 3});
  far.keep_sums_in_range();
  EXPECT_THAT(far.trace().start, ElementsAre(5));
  EXPECT_EQ(far.trace().memory.size(), 1u);
  EXPECT_EQ(far.trace().stats.reasons.at("time is no number or out of range"), 5u);

  TraceBuilder many;
  for (int i = 0; i < 20'000; ++i) many.add(event(EventKind::kernel, "a", i, i % 2 == 0 ? kWeek : 1000));
  many.keep_sums_in_range();
  EXPECT_EQ(many.trace().size(), 10'000u);
  EXPECT_EQ(many.trace().stats.skipped, 10'000u);
}

TEST(Builder, NamesWithoutEndAreCutBetweenCharacters) {
  TraceBuilder builder;
  const std::string longest(kLongestName, 'n');
  builder.add(event(EventKind::op, longest, 0, 1));
  EXPECT_TRUE(builder.trace().stats.repaired.empty());
  builder.add(event(EventKind::op, longest + "more", 0, 1));
  const std::string wide = longest.substr(2) + "\u20AC" + "more";  // its three bytes reach over the end
  builder.add(event(EventKind::op, wide, 0, 1));
  const Trace trace = builder.finish();
  EXPECT_EQ(trace.name_of(1), longest);
  EXPECT_EQ(trace.name_of(2), longest.substr(2));
  EXPECT_EQ(trace.stats.repaired.at("name of more than 16 KiB, cut"), 2u);
}

TEST(Builder, RemovingRowsMovesTheOthersDown) {
  TraceBuilder builder;
  builder.reserve(10, 1, 1);
  for (const char* name : {"a", "b", "c", "d", "e"}) builder.add(event(EventKind::other, name, name[0], 1));
  builder.set_duration(3, 9);
  builder.remove({});
  builder.remove({1, 2, 4});
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.name_of(0), "a");
  EXPECT_EQ(trace.name_of(1), "d");
  EXPECT_THAT(trace.duration, ElementsAre(1, 9));
  EXPECT_THAT(trace.start, ElementsAre('a', 'd'));
  EXPECT_EQ(trace.detail.size(), 2u);
  EXPECT_EQ(trace.source_index.size(), 2u);
}

}  // namespace
}  // namespace hunch::trace
