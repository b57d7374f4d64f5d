// A Recorder whose launches and device work come from a device's tracer, here one made by hand: which call is
// kept, what its work belongs to, what is lost and said so, and that a written trace reads back the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "hunch/formats/reader.h"
#include "hunch/formats/writer.h"
#include "hunch/record/device_tracer.h"
#include "hunch/record/recorder.h"
#include "tests/unit/formats/same_trace.h"

namespace hunch::record {
namespace {

using base::ScopedProbe;
using base::Span;
using base::SpanKind;
using base::WorkKind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::EventId;
using trace::EventKind;
using trace::kNone;
using trace::Trace;

// Plays the driver: calls are stamped with the clock as they are made, and carry the id pushed last.
class FakeTracer final : public DeviceTracer {
 public:
  base::Status start() override {
    ++starts;
    return {};
  }
  DeviceActivity take() override { return std::exchange(activity, DeviceActivity()); }
  void stop() override {}
  void push(uint64_t external) override { pushed_.push_back(external); }
  void pop() override { pushed_.pop_back(); }

  // A call and what happens inside it; returns its correlation.
  uint32_t call(std::string_view name, const std::function<void()>& inside = {}, uint32_t correlation = 0) {
    if (correlation == 0) correlation = ++last_correlation;
    ApiCall made;
    made.driver = name.starts_with("cu") && !name.starts_with("cuda");
    made.name = activity.names.intern(name);
    made.tid = gettid();
    made.correlation = correlation;
    if (name.find("LaunchKernel") != std::string_view::npos) made.driver_blocks = 3;
    if (!pushed_.empty() && tells_externals) made.external = pushed_.back();
    made.start = base::now_ns();
    if (inside) inside();
    made.end = base::now_ns();
    activity.calls.push_back(made);
    return correlation;
  }

  TracedWork& work(uint32_t correlation, WorkKind kind, std::string_view name, int64_t stream = 7) {
    TracedWork done;
    done.kind = kind;
    done.name = activity.names.intern(name);
    done.correlation = correlation;
    done.stream = stream;
    done.start = clock_ = std::max(clock_, base::now_ns());
    done.end = clock_ += 100;
    activity.work.push_back(done);
    return activity.work.back();
  }

  TracedWork& kernel(uint32_t correlation, std::string_view name = "kernel", int64_t stream = 7) {
    TracedWork& done = work(correlation, WorkKind::kernel, name, stream);
    done.registers = 40;
    done.static_shared_bytes = 1024;
    done.dynamic_shared_bytes = 65536;
    done.grid = {132, 2, 1};
    done.block = {128, 1, 1};
    return done;
  }

  DeviceActivity activity;
  uint32_t last_correlation = 0;
  int starts = 0;
  bool tells_externals = true;
  std::size_t depth() const { return pushed_.size(); }

 private:
  std::vector<uint64_t> pushed_;
  base::Ns clock_ = 0;
};

class Traced : public testing::Test {
 protected:
  Traced() : recorder(&tracer) {
    EXPECT_TRUE(recorder.start());
    trace::DeviceProperties device;
    device.name = "a GPU";
    recorder.add_device(device);
  }

  static std::vector<EventId> all(const Trace& trace, EventKind kind, std::string_view name = {}) {
    std::vector<EventId> found;
    for (EventId i = 0; i < trace.size(); ++i)
      if (trace.kind[i] == kind && (name.empty() || trace.name_of(i) == name)) found.push_back(i);
    return found;
  }
  static EventId one(const Trace& trace, EventKind kind, std::string_view name) {
    const auto found = all(trace, kind, name);
    EXPECT_EQ(found.size(), 1u) << name;
    return found.empty() ? kNone : found.front();
  }
  static bool inside(const Trace& trace, EventId inner, EventId outer) {
    return trace.track[inner] == trace.track[outer] && trace.start[inner] >= trace.start[outer] &&
           trace.end(inner) <= trace.end(outer);
  }

  FakeTracer tracer;
  Recorder recorder;
};

TEST_F(Traced, AsksDevicesToReportNothing) {
  EXPECT_TRUE(recorder.traces_device());
  EXPECT_FALSE(Recorder().traces_device());
  EXPECT_EQ(tracer.starts, 1);
}

TEST_F(Traced, LaunchesAndWorkHaveTheirOpsAndRanges) {
  {
    const ScopedProbe on(&recorder);
    const Span step(SpanKind::step, "ProfilerStep#0");
    const Span range(SpanKind::annotation, "attn_fwd");
    {
      const Span outer(SpanKind::op, "hunch::masked_fill", "[[2,3]]");
      EXPECT_EQ(tracer.depth(), 1u) << "ranges push nothing";
      {
        const Span inner(SpanKind::op, "hunch::clone");
        EXPECT_EQ(tracer.depth(), 2u);
        tracer.work(tracer.call("cudaMemcpyAsync"), WorkKind::memcpy, "Memcpy DtoD (Device -> Device)")
            .bytes = 24;
      }
      tracer.kernel(tracer.call("cudaLaunchKernel"));
      recorder.memory(64, 64);
    }
    EXPECT_EQ(tracer.depth(), 0u);
    tracer.work(tracer.call("cudaMemsetAsync"), WorkKind::memset, "Memset (Device)").bytes = 8;
  }
  const Trace trace = recorder.finish();
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  const EventId step = one(trace, EventKind::step, "ProfilerStep#0");
  const EventId range = one(trace, EventKind::annotation, "attn_fwd");
  const EventId fill = one(trace, EventKind::op, "hunch::masked_fill");
  const EventId clone = one(trace, EventKind::op, "hunch::clone");
  const EventId copy_call = one(trace, EventKind::runtime_call, "cudaMemcpyAsync");
  const EventId launch = one(trace, EventKind::runtime_call, "cudaLaunchKernel");
  const EventId copy = one(trace, EventKind::memcpy, "Memcpy DtoD (Device -> Device)");
  const EventId kernel = one(trace, EventKind::kernel, "kernel");
  const EventId set = one(trace, EventKind::memset, "Memset (Device)");
  for (const EventId event : {range, fill, clone, copy_call, launch}) EXPECT_TRUE(inside(trace, event, step));
  EXPECT_TRUE(inside(trace, copy_call, clone));
  EXPECT_EQ(trace.external_id[copy_call], trace.external_id[clone]);
  EXPECT_EQ(trace.external_id[copy], trace.external_id[clone]);
  EXPECT_EQ(trace.external_id[launch], trace.external_id[fill]);
  EXPECT_EQ(trace.external_id[kernel], trace.external_id[fill]);
  EXPECT_EQ(trace.external_id[set], 0u) << "no op is around its call";
  EXPECT_EQ(trace.correlation[kernel], trace.correlation[launch]);
  EXPECT_EQ(trace.memory.size(), 1u);

  const trace::DeviceDetail& detail = *trace.device_detail(kernel);
  EXPECT_EQ(detail.registers, 40);
  EXPECT_EQ(detail.shared_bytes, 1024 + 65536);
  EXPECT_THAT(detail.grid, ElementsAre(132, 2, 1));
  EXPECT_THAT(detail.block, ElementsAre(128, 1, 1));
  EXPECT_EQ(detail.driver_blocks, 3);
  EXPECT_EQ(detail.graph_id, -1);
  EXPECT_EQ(trace.device_detail(copy)->bytes, 24);
  EXPECT_EQ(trace.device_detail(copy)->driver_blocks, -1);
  EXPECT_EQ(trace.device_detail(set)->bytes, 8);

  // The ranges' shadows on the device span all that was launched inside.
  const EventId shadow = one(trace, EventKind::device_annotation, "attn_fwd");
  EXPECT_EQ(trace.start[shadow], trace.start[copy]);
  EXPECT_EQ(trace.end(shadow), trace.end(set));
  EXPECT_EQ(trace.tracks[trace.track[shadow]].process, "GPU 0");
}

TEST_F(Traced, ARuntimeCallStandsForTheDriverCallInsideIt) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "hunch::matmul");
    // As CUPTI numbers them: one correlation for both.
    const uint32_t shared = ++tracer.last_correlation;
    tracer.call(
        "cudaLaunchKernel", [&] { tracer.call("cuLaunchKernel", {}, shared); }, shared);
    tracer.kernel(shared, "shares");
    // With numbers of their own, the work has the driver call's.
    uint32_t inner = 0;
    tracer.call("cudaLaunchKernelExC", [&] { inner = tracer.call("cuLaunchKernelEx"); });
    tracer.kernel(inner, "does not");
    // A library that calls the driver itself.
    tracer.kernel(tracer.call("cuLaunchKernelEx"), "direct");
    // A runtime call within another.
    tracer.work(tracer.call("cudaMemcpy", [&] { tracer.call("cudaMemcpyAsync"); }), WorkKind::memcpy,
                "Memcpy");
  }
  const Trace trace = recorder.finish();
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  std::vector<std::string> calls;
  for (EventId i = 0; i < trace.size(); ++i)
    if (trace::is_api_call(trace.kind[i])) calls.emplace_back(trace.name_of(i));
  EXPECT_THAT(calls,
              ElementsAre("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernelEx", "cudaMemcpy"));
  const EventId direct = one(trace, EventKind::driver_call, "cuLaunchKernelEx");
  EXPECT_EQ(trace.correlation[one(trace, EventKind::kernel, "direct")], trace.correlation[direct]);
  EXPECT_EQ(trace.correlation[one(trace, EventKind::kernel, "does not")],
            trace.correlation[one(trace, EventKind::runtime_call, "cudaLaunchKernelExC")]);
  const EventId op = one(trace, EventKind::op, "hunch::matmul");
  for (const EventId kernel : all(trace, EventKind::kernel))
    EXPECT_EQ(trace.external_id[kernel], trace.external_id[op]);
}

TEST_F(Traced, LoadingCodeInsideALaunchIsToldApart) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "hunch::softmax");
    const uint32_t launch = tracer.call("cudaLaunchKernel", [&] { tracer.call("cuLibraryLoadData"); });
    tracer.kernel(launch);
  }
  const Trace trace = recorder.finish();
  EXPECT_TRUE(inside(trace, one(trace, EventKind::driver_call, "cuLibraryLoadData"),
                     one(trace, EventKind::runtime_call, "cudaLaunchKernel")));
}

TEST_F(Traced, WithoutExternalIdsTimeOnTheThreadTells) {
  tracer.tells_externals = false;
  {
    const ScopedProbe on(&recorder);
    const Span before(SpanKind::op, "outer");
    { const Span closed(SpanKind::op, "closed before"); }
    {
      const Span inner(SpanKind::op, "inner");
      tracer.kernel(tracer.call("cudaLaunchKernel"), "in inner");
    }
    tracer.kernel(tracer.call("cudaLaunchKernel"), "in outer");
  }
  const Trace trace = recorder.finish();
  EXPECT_EQ(trace.external_id[one(trace, EventKind::kernel, "in inner")],
            trace.external_id[one(trace, EventKind::op, "inner")]);
  EXPECT_EQ(trace.external_id[one(trace, EventKind::kernel, "in outer")],
            trace.external_id[one(trace, EventKind::op, "outer")]);
}

TEST_F(Traced, TheIdWinsOverTime) {
  // A clock that jumps: the call seems to lie outside of its op.
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "launches");
    tracer.kernel(tracer.call("cudaLaunchKernel"));
  }
  ApiCall& call = tracer.activity.calls.front();
  call.start += 1'000'000'000;
  call.end += 1'000'000'000;
  const Trace trace = recorder.finish();
  EXPECT_EQ(trace.external_id[one(trace, EventKind::kernel, "kernel")],
            trace.external_id[one(trace, EventKind::op, "launches")]);
}

TEST_F(Traced, RecordersThatShareATracerKeepApart) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "of the first");
    tracer.kernel(tracer.call("cudaLaunchKernel"), "first");
  }
  const Trace first = recorder.finish();
  tracer.kernel(tracer.call("cudaLaunchKernel"), "between");
  Recorder second(&tracer);
  ASSERT_TRUE(second.start());
  {
    const ScopedProbe on(&second);
    const Span op(SpanKind::op, "of the second");
    tracer.kernel(tracer.call("cudaLaunchKernel"), "second");
  }
  const Trace trace = second.finish();
  EXPECT_EQ(all(first, EventKind::kernel).size(), 1u);
  EXPECT_EQ(all(trace, EventKind::kernel).size(), 1u);
  EXPECT_EQ(trace.external_id[one(trace, EventKind::kernel, "second")],
            trace.external_id[one(trace, EventKind::op, "of the second")]);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
}

TEST_F(Traced, CallsBeforeTheStartAreLeftOutWithTheirWork) {
  FakeTracer shared;
  Recorder late(&shared);
  const uint32_t earlier = shared.call("cudaLaunchKernel");
  const ApiCall call = shared.activity.calls.front();
  ASSERT_TRUE(late.start());
  // The record of the earlier call comes late all the same.
  ApiCall again = call;
  again.name = shared.activity.names.intern("cudaLaunchKernel");
  shared.activity.calls.push_back(again);
  shared.kernel(earlier, "early");
  shared.kernel(shared.call("cudaLaunchKernel"), "kept");
  const Trace trace = late.finish();
  EXPECT_THAT(all(trace, EventKind::kernel), ElementsAre(one(trace, EventKind::kernel, "kept")));
  EXPECT_EQ(all(trace, EventKind::runtime_call).size(), 1u);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
}

TEST_F(Traced, WhatIsLostIsSaid) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "op");
    tracer.call("cudaLaunchKernel");  // its kernel's record was lost
    tracer.kernel(12345, "stray");    // its call's record was lost
    tracer.call("cudaMalloc");        // never has work
    tracer.call("cudaLaunchKernel");  // failed
    tracer.activity.calls.back().result = 1;
  }
  tracer.activity.lost = 1024;
  tracer.activity.untimed = 2;
  tracer.activity.warnings.push_back("the tracer's own words");
  recorder.warn("the recorder's");
  const Trace trace = recorder.finish();
  EXPECT_EQ(trace.external_id[one(trace, EventKind::kernel, "stray")], 0u);
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("1024 records of the device's tracer lost")));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("2 pieces of device work without times")));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("1 launch without device work")));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("1 device event of launches that were not recorded")));
  EXPECT_THAT(trace.stats.warnings, Contains("the tracer's own words"));
  EXPECT_THAT(trace.stats.warnings, Contains("the recorder's"));
  EXPECT_EQ(trace.stats.warnings.size(), 6u);
}

TEST_F(Traced, StreamsThreadsAndDevicesHaveTheirTracks) {
  {
    const ScopedProbe on(&recorder);
    const Span range(SpanKind::annotation, "attn_fwd");
    const Span op(SpanKind::op, "main");
    tracer.kernel(tracer.call("cudaLaunchKernel"), "on 7", 7);
    tracer.kernel(tracer.call("cudaLaunchKernel"), "on 13", 13);
    tracer.kernel(tracer.call("cudaLaunchKernel"), "elsewhere", 7).device = 1;
    std::thread([&] { tracer.kernel(tracer.call("cudaLaunchKernel"), "of another thread", 7); }).join();
  }
  tracer.activity.calls.back().external = 0;  // the other thread has no span open
  const Trace trace = recorder.finish();
  const auto track = [&](std::string_view name) {
    return trace.tracks[trace.track[one(trace, EventKind::kernel, name)]];
  };
  EXPECT_EQ(track("on 7").pid, "0");
  EXPECT_EQ(track("on 7").tid, "7");
  EXPECT_EQ(track("on 13").tid, "13");
  EXPECT_EQ(track("on 13").name, "stream 13");
  EXPECT_EQ(track("elsewhere").pid, "1");
  EXPECT_EQ(track("elsewhere").process, "GPU 1");
  EXPECT_EQ(trace.device_detail(one(trace, EventKind::kernel, "elsewhere"))->device, 1);
  EXPECT_EQ(all(trace, EventKind::device_annotation, "attn_fwd").size(), 3u) << "one a stream of a device";
  std::set<uint32_t> threads;
  for (const EventId call : all(trace, EventKind::runtime_call)) threads.insert(trace.track[call]);
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_EQ(trace.external_id[one(trace, EventKind::kernel, "of another thread")], 0u);
}

TEST_F(Traced, AGraphsKernelsShareItsLaunch) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "replay");
    tracer.call("cudaStreamBeginCapture");
    tracer.call("cudaLaunchKernel");  // captured: does no work
    tracer.call("cudaStreamEndCapture");
    const uint32_t launch = tracer.call("cudaGraphLaunch");
    for (int node = 1; node <= 3; ++node) {
      TracedWork& kernel = tracer.kernel(launch, "node");
      kernel.graph_id = 5;
      kernel.graph_node_id = node;
    }
  }
  const Trace trace = recorder.finish();
  EXPECT_THAT(trace.stats.warnings, IsEmpty()) << "a captured launch has no work";
  const EventId launch = one(trace, EventKind::runtime_call, "cudaGraphLaunch");
  std::set<int64_t> nodes;
  for (const EventId kernel : all(trace, EventKind::kernel)) {
    EXPECT_EQ(trace.correlation[kernel], trace.correlation[launch]);
    EXPECT_EQ(trace.device_detail(kernel)->graph_id, 5);
    nodes.insert(trace.device_detail(kernel)->graph_node_id);
    EXPECT_EQ(trace.device_detail(kernel)->driver_blocks, -1);
  }
  EXPECT_THAT(nodes, ElementsAre(1, 2, 3));
}

// Devices without a tracer may be recorded beside one with: their own numbers must not meet its.
TEST_F(Traced, ReportedLaunchesKeepApartFromTracedOnes) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "op");
    base::WorkInfo work;
    work.name = "reported";
    const uint64_t reported = recorder.launch_begin("hunchLaunchKernel", work);
    recorder.launch_end(reported);
    const base::Ns now = base::now_ns();
    recorder.device_work(reported, work, 7, now, now + 10);
    tracer.kernel(tracer.call("cudaLaunchKernel", {}, static_cast<uint32_t>(reported)), "traced");
  }
  const Trace trace = recorder.finish();
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(trace.correlation[one(trace, EventKind::kernel, "reported")],
            trace.correlation[one(trace, EventKind::runtime_call, "hunchLaunchKernel")]);
  EXPECT_EQ(trace.correlation[one(trace, EventKind::kernel, "traced")],
            trace.correlation[one(trace, EventKind::runtime_call, "cudaLaunchKernel")]);
  EXPECT_NE(trace.correlation[one(trace, EventKind::kernel, "traced")],
            trace.correlation[one(trace, EventKind::kernel, "reported")]);
}

TEST_F(Traced, WaitsAndOverheadsLieBesideTheRest) {
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "waits");
    const uint32_t wait = tracer.call("cudaStreamSynchronize");
    const ApiCall& call = tracer.activity.calls.back();
    Synchronization sync;
    sync.name = tracer.activity.names.intern("Stream Sync");
    sync.start = call.start;
    sync.end = call.end;
    sync.correlation = wait;
    sync.stream = 7;
    tracer.activity.synchronizations.push_back(sync);
    Overhead overhead;
    overhead.name = tracer.activity.names.intern("Buffer Flush");
    overhead.start = call.start;
    overhead.end = call.end + 1'000'000;
    overhead.tid = gettid();
    tracer.activity.overheads.push_back(overhead);
  }
  tracer.activity.metadata["cupti_version"] = "130001";
  const Trace trace = recorder.finish();
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  const EventId call = one(trace, EventKind::runtime_call, "cudaStreamSynchronize");
  const EventId sync = one(trace, EventKind::sync, "Stream Sync");
  const EventId overhead = one(trace, EventKind::overhead, "Buffer Flush");
  EXPECT_EQ(trace.correlation[sync], trace.correlation[call]);
  EXPECT_EQ(trace.external_id[sync], trace.external_id[one(trace, EventKind::op, "waits")]);
  EXPECT_NE(trace.track[sync], trace.track[call]);
  EXPECT_NE(trace.track[overhead], trace.track[call]) << "it ends after the op: it would cross its slice";
  EXPECT_EQ(trace.metadata.at("cupti_version"), "130001");
}

TEST_F(Traced, ReadsBackAsItWas) {
  {
    const ScopedProbe on(&recorder);
    const Span step(SpanKind::step, "ProfilerStep#0");
    const Span range(SpanKind::annotation, "attn_fwd");
    const Span op(SpanKind::op, "hunch::matmul", "[[1,2]]");
    tracer.kernel(tracer.call("cudaLaunchKernel"), "void kernel<float>(float const*)");
    tracer.kernel(tracer.call("cuLaunchKernelEx"), "nvjet");
    tracer.work(tracer.call("cudaMemcpyAsync"), WorkKind::memcpy, "Memcpy HtoD (Pinned -> Device)").bytes = 7;
    TracedWork& node = tracer.kernel(tracer.call("cudaGraphLaunch"), "node");
    node.graph_id = 2;
    node.graph_node_id = 9;
  }
  const Trace trace = recorder.finish();
  const auto again = formats::read_trace_bytes(formats::chrome_json_text(trace), "written");
  ASSERT_TRUE(again) << base::describe(again.error());
  formats::expect_same_trace(trace, *again, true);
  EXPECT_EQ(again->device_detail(one(*again, EventKind::kernel, "nvjet"))->driver_blocks, 3);
  EXPECT_EQ(again->kind[one(*again, EventKind::driver_call, "cuLaunchKernelEx")], EventKind::driver_call);
}

}  // namespace
}  // namespace hunch::record
