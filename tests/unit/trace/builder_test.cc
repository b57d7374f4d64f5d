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
