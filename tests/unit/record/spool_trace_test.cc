// From a process's spool to a Trace: ranges put together, calls and work in them, clocks, and what is said to
// be missing.
#include "hunch/record/spool/spool_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hunch/formats/reader.h"
#include "hunch/formats/writer.h"
#include "tests/unit/formats/same_trace.h"

namespace hunch::record::spool {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using trace::EventId;
using trace::EventKind;
using trace::kNone;
using trace::Trace;

class SpoolTrace : public testing::Test {
 protected:
  SpoolTrace() {
    spool.process = {4711, 4710, "python3", base::clock_shift()};
    spool.ended = true;
  }

  void push(int64_t tid, base::Ns time, std::string_view text, std::string_view domain = {}) {
    spool.ranges.push_back({RangeWhat::push, tid, time, 0, domain, text});
  }
  void pop(int64_t tid, base::Ns time, std::string_view domain = {}) {
    spool.ranges.push_back({RangeWhat::pop, tid, time, 0, domain, {}});
  }
  uint32_t launch(int64_t tid, base::Ns time, int32_t blocks = -1) {
    ApiCall call;
    call.name = spool.activity.names.intern("cudaLaunchKernel");
    call.tid = tid;
    call.start = time;
    call.end = time + 5;
    call.correlation = ++correlation_;
    call.driver_blocks = blocks;
    spool.activity.calls.push_back(call);
    return call.correlation;
  }
  void kernel(uint32_t correlation, base::Ns time, std::string_view name = "kernel") {
    TracedWork work;
    work.name = spool.activity.names.intern(name);
    work.start = time;
    work.end = time + 50;
    work.correlation = correlation;
    work.stream = 7;
    spool.activity.work.push_back(work);
  }
  Trace make() { return trace_of(std::move(spool)); }

  static EventId one(const Trace& trace, EventKind kind, std::string_view name) {
    EventId found = kNone;
    for (EventId i = 0; i < trace.size(); ++i) {
      if (trace.kind[i] != kind || trace.name_of(i) != name) continue;
      EXPECT_EQ(found, kNone) << name << " is there twice";
      found = i;
    }
    EXPECT_NE(found, kNone) << name;
    return found;
  }

  Spool spool;

 private:
  uint32_t correlation_ = 0;
};

TEST_F(SpoolTrace, RangesOpsCallsAndWork) {
  spool.threads[5] = "main";
  trace::DeviceProperties device;
  device.name = "a GPU";
  spool.devices.push_back(device);
  spool.activity.metadata["cupti_version"] = "130000";
  push(5, 1000, "attn_fwd");
  push(5, 1010, "aten::mm, seq = 12, op_id = 3, sizes = [[2, 3], [3, 4]]");
  kernel(launch(5, 1020, 3), 1100);
  pop(5, 1040);
  kernel(launch(5, 1050), 1200, "second");
  pop(5, 1060);
  const Trace trace = make();
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  const EventId range = one(trace, EventKind::annotation, "attn_fwd");
  const EventId op = one(trace, EventKind::op, "aten::mm");
  EXPECT_EQ(trace.start[range], 1000);
  EXPECT_EQ(trace.duration[range], 60);
  EXPECT_EQ(trace.duration[op], 30);
  EXPECT_EQ(trace.op_detail(op)->sequence_number, 12);
  EXPECT_EQ(trace.strings.view(trace.op_detail(op)->input_dims), "[[2,3],[3,4]]");
  const EventId first = one(trace, EventKind::kernel, "kernel"),
                second = one(trace, EventKind::kernel, "second");
  EXPECT_EQ(trace.external_id[first], trace.external_id[op]);
  EXPECT_EQ(trace.external_id[second], 0u);
  EXPECT_EQ(trace.device_detail(first)->driver_blocks, 3);
  EXPECT_EQ(trace.device_detail(second)->driver_blocks, -1);
  const EventId shadow = one(trace, EventKind::device_annotation, "attn_fwd");
  EXPECT_EQ(trace.start[shadow], 1100);
  EXPECT_EQ(trace.end(shadow), 1250);
  const trace::Track& track = trace.tracks[trace.track[range]];
  EXPECT_EQ(track.pid, "4711");
  EXPECT_EQ(track.tid, "5");
  EXPECT_EQ(track.name, "thread 5 (main)");
  EXPECT_EQ(track.process, "python3");
  EXPECT_EQ(trace.metadata.at("cupti_version"), "130000");
  ASSERT_EQ(trace.devices.size(), 1u);

  const auto again = formats::read_trace_bytes(formats::chrome_json_text(trace), "written");
  ASSERT_TRUE(again) << base::describe(again.error());
  formats::expect_same_trace(trace, *again, true);
}

TEST_F(SpoolTrace, DomainsNestEachForItself) {
  push(5, 100, "outer", "mine");
  push(5, 110, "ncclAllReduce", "NCCL");
  push(5, 120, "default");
  pop(5, 130, "mine");  // ends outer, though default began after it
  pop(5, 140, "NCCL");
  pop(5, 150);
  pop(5, 160);  // of a push before the recording
  const Trace trace = make();
  EXPECT_EQ(trace.end(one(trace, EventKind::annotation, "outer")), 130);
  EXPECT_EQ(trace.end(one(trace, EventKind::op, "ncclAllReduce")), 140);
  EXPECT_EQ(trace.end(one(trace, EventKind::annotation, "default")), 150);
  EXPECT_EQ(trace.size(), 3u);
}

TEST_F(SpoolTrace, ARangeThatEndsOnAnotherThreadBelongsToItsOwn) {
  spool.ranges.push_back({RangeWhat::start, 5, 100, 42, {}, "request"});
  spool.ranges.push_back({RangeWhat::end, 6, 180, 42, {}, {}});
  spool.ranges.push_back({RangeWhat::end, 6, 190, 43, {}, {}});
  kernel(launch(5, 120), 300);
  const Trace trace = make();
  const EventId range = one(trace, EventKind::annotation, "request");
  EXPECT_EQ(trace.duration[range], 80);
  EXPECT_EQ(trace.tracks[trace.track[range]].tid, "5");
  one(trace, EventKind::device_annotation, "request");
}

TEST_F(SpoolTrace, StepsAreSteps) {
  push(5, 100, "ProfilerStep#3");
  pop(5, 110);
  const Trace trace = make();
  one(trace, EventKind::step, "ProfilerStep#3");
}

TEST_F(SpoolTrace, WhatIsStillOpenEndsWithTheRecording) {
  push(5, 100, "attn_fwd");
  kernel(launch(5, 120), 300);
  spool.ended = false;
  const Trace trace = make();
  EXPECT_EQ(trace.end(one(trace, EventKind::annotation, "attn_fwd")), 350);
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("ended before its recording")));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("still open")));
}

TEST_F(SpoolTrace, WhatIsLostAndNotedIsSaid) {
  launch(5, 120);
  spool.activity.lost = 3;
  spool.activity.warnings = {"a note of the process"};
  const Trace trace = make();
  EXPECT_THAT(trace.stats.warnings, Contains("a note of the process"));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("3 records")));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("1 launch without device work")));
  EXPECT_THAT(trace.stats.warnings, Not(Contains(HasSubstr("ended before its recording"))));
}

// Each process shifts the machine's clock by a number of its own; their traces must fit each other.
TEST_F(SpoolTrace, TimesAreOnOneClock) {
  spool.process.clock_shift -= 1'000'000;
  push(5, 100, "attn_fwd");
  pop(5, 110);
  kernel(launch(5, 105), 300);
  const Trace trace = make();
  EXPECT_EQ(trace.start[one(trace, EventKind::annotation, "attn_fwd")], 1'000'100);
  EXPECT_EQ(trace.start[one(trace, EventKind::runtime_call, "cudaLaunchKernel")], 1'000'105);
  EXPECT_EQ(trace.start[one(trace, EventKind::kernel, "kernel")], 1'000'300);
}

TEST_F(SpoolTrace, NothingAtAllIsATraceToo) {
  const Trace trace = make();
  EXPECT_EQ(trace.size(), 0u);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
}

}  // namespace
}  // namespace hunch::record::spool
