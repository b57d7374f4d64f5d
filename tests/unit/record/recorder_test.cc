// The Recorder, driven by hand through the Probe interface, from one thread and from several.
#include "hunch/record/recorder.h"
#include "hunch/trace/builder.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

namespace hunch::record {
namespace {

using base::ScopedProbe;
using base::Span;
using base::SpanKind;
using base::WorkInfo;
using base::WorkKind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::EventId;
using trace::EventKind;
using trace::kNone;
using trace::Trace;

WorkInfo kernel(std::string_view name) {
  WorkInfo work;
  work.name = name;
  work.grid = {4, 2, 1};
  work.block = {1, 1, 1};
  return work;
}

// Launches work that runs for 100 ns, `delay` after its call; returns the correlation.
uint64_t launch(base::Probe& probe, const WorkInfo& work, base::Ns delay = 1000, int64_t stream = 7) {
  const uint64_t correlation = probe.launch_begin("hunchLaunchKernel", work);
  probe.launch_end(correlation);
  const base::Ns start = base::now_ns() + delay;
  probe.device_work(correlation, work, stream, start, start + 100);
  return correlation;
}

EventId find(const Trace& trace, std::string_view name, EventKind kind) {
  for (EventId i = 0; i < trace.size(); ++i)
    if (trace.kind[i] == kind && trace.name_of(i) == name) return i;
  ADD_FAILURE() << "no event " << name;
  return kNone;
}

bool inside(const Trace& trace, EventId inner, EventId outer) {
  return trace.track[inner] == trace.track[outer] && trace.start[inner] >= trace.start[outer] &&
         trace.end(inner) <= trace.end(outer);
}

TEST(Recorder, NothingRecordedIsAnEmptyTrace) {
  Recorder recorder;
  const Trace trace = recorder.finish();
  EXPECT_EQ(trace.size(), 0u);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(trace.format, "recording");
}

TEST(Recorder, KeepsAForwardAsPyTorchWould) {
  Recorder recorder;
  trace::DeviceProperties device;
  device.id = 3;
  device.name = "a device";
  device.is_cpu = true;
  recorder.add_device(device);
  recorder.set_metadata("variant", "naive");
  {
    const ScopedProbe on(&recorder);
    const Span step(SpanKind::step, "ProfilerStep#0");
    {
      const Span range(SpanKind::annotation, "attn_fwd");
      const Span outer(SpanKind::op, "hunch::masked_fill", "[[2,3]]");
      recorder.memory(64, 64);
      {
        const Span inner(SpanKind::op, "hunch::clone");
        WorkInfo copy;
        copy.kind = WorkKind::memcpy;
        copy.name = "Memcpy DtoD (Device -> Device)";
        copy.bytes = 24;
        launch(recorder, copy);
      }
      launch(recorder, kernel("fill_kernel"), 5000);
    }
    const base::Ns before = base::now_ns();
    recorder.host_wait("hunchStreamSynchronize", before, base::now_ns());
  }
  const Trace trace = recorder.finish();

  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(trace.metadata.at("variant"), "naive");
  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_EQ(trace.devices[0].name, "a device");

  const EventId step = find(trace, "ProfilerStep#0", EventKind::step);
  const EventId range = find(trace, "attn_fwd", EventKind::annotation);
  const EventId fill = find(trace, "hunch::masked_fill", EventKind::op);
  const EventId clone = find(trace, "hunch::clone", EventKind::op);
  const EventId wait = find(trace, "hunchStreamSynchronize", EventKind::runtime_call);
  const EventId copy = find(trace, "Memcpy DtoD (Device -> Device)", EventKind::memcpy);
  const EventId work = find(trace, "fill_kernel", EventKind::kernel);
  const EventId shadow = find(trace, "attn_fwd", EventKind::device_annotation);
  EXPECT_TRUE(inside(trace, range, step));
  EXPECT_TRUE(inside(trace, fill, range));
  EXPECT_TRUE(inside(trace, clone, fill));
  EXPECT_TRUE(inside(trace, wait, step));

  EXPECT_EQ(trace.strings.view(trace.op_detail(fill)->input_dims), "[[2,3]]");
  EXPECT_EQ(trace.op_detail(clone), nullptr);
  EXPECT_EQ(trace.external_id[copy], trace.external_id[clone]);
  EXPECT_EQ(trace.external_id[work], trace.external_id[fill]);
  EXPECT_EQ(trace.external_id[wait], 0u) << "no op is around it";
  EXPECT_NE(trace.correlation[wait], 0u);
  EXPECT_EQ(trace.external_id[shadow], trace.external_id[range]);
  std::set<uint64_t> ids;
  for (const EventId event : {step, range, fill, clone}) ids.insert(trace.external_id[event]);
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_FALSE(ids.count(0));

  EXPECT_EQ(trace.duration[work], 100);
  const trace::DeviceDetail* detail = trace.device_detail(work);
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(detail->device, 3);
  EXPECT_EQ(detail->stream, 7);
  EXPECT_THAT(detail->grid, ElementsAre(4, 2, 1));
  EXPECT_EQ(detail->reported_occupancy_pct, -1);
  EXPECT_EQ(trace.device_detail(copy)->bytes, 24);

  const trace::Track& host = trace.tracks[trace.track[step]];
  EXPECT_EQ(host.pid, std::to_string(getpid()));
  EXPECT_EQ(host.tid, std::to_string(gettid()));
  const trace::Track& stream = trace.tracks[trace.track[work]];
  EXPECT_EQ(stream.pid, "3");
  EXPECT_EQ(stream.tid, "7");
  EXPECT_EQ(stream.name, "stream 7");
  EXPECT_EQ(stream.process, "CPU device 3");

  // The shadow spans the range's device work, and comes before it in the rows.
  EXPECT_EQ(trace.start[shadow], trace.start[copy]);
  EXPECT_EQ(trace.end(shadow), trace.end(work));
  EXPECT_LT(shadow, copy);

  ASSERT_EQ(trace.memory.size(), 1u);
  EXPECT_EQ(trace.memory[0].delta_bytes, 64);
  EXPECT_EQ(trace.memory[0].in_use_bytes, 64);
  EXPECT_EQ(trace.memory[0].device, 3);
  EXPECT_EQ(trace.memory[0].track, trace.track[step]);

  for (EventId i = 0; i < trace.size(); ++i) EXPECT_EQ(trace.source_index[i], i);
  EXPECT_EQ(trace.stats.events, trace.size() + 1);
  EXPECT_GT(trace.base_time, 0);
  EXPECT_LE(trace.base_time, trace.start[step]);
  EXPECT_LT(trace.start[step] - trace.base_time, int64_t{86400} * 1'000'000'000);
}

TEST(Recorder, CopiesNamesOfSpans) {
  Recorder recorder;
  {
    const ScopedProbe on(&recorder);
    for (int i = 0; i < 3; ++i) {
      std::string name = "ProfilerStep#" + std::to_string(i);
      const Span step(SpanKind::step, name);
      name.assign(name.size(), 'x');
    }
    const std::string huge(200'000, 'n');
    const Span long_name(SpanKind::op, huge);
  }
  const Trace trace = recorder.finish();
  find(trace, "ProfilerStep#0", EventKind::step);
  find(trace, "ProfilerStep#2", EventKind::step);
  find(trace, std::string(trace::kLongestName, 'n'), EventKind::op);  // kept whole, and cut in the Trace
}

TEST(Recorder, ClosesWhatIsOpenAtTheLastTimeSeen) {
  Recorder recorder;
  recorder.begin_span(SpanKind::annotation, "never closed", {});
  const uint64_t correlation = launch(recorder, kernel("late"), 1'000'000);
  const Trace trace = recorder.finish();
  const EventId open = find(trace, "never closed", EventKind::annotation);
  const EventId late = find(trace, "late", EventKind::kernel);
  EXPECT_EQ(trace.correlation[late], correlation);
  EXPECT_EQ(trace.end(open), trace.end(late));
  EXPECT_THAT(trace.stats.warnings, ElementsAre(HasSubstr("1 span or call was still open")));
}

TEST(Recorder, WarnsOfLaunchesWithoutWorkAndOfWorkWithoutLaunch) {
  Recorder before, recorder;
  const WorkInfo work = kernel("of an earlier recorder");
  const uint64_t earlier = before.launch_begin("hunchLaunchKernel", work);
  before.launch_end(earlier);
  const uint64_t lonely = recorder.launch_begin("hunchLaunchKernel", work);
  recorder.launch_end(lonely);
  recorder.device_work(earlier, work, 7, 100, 200);
  const Trace trace = recorder.finish();
  EXPECT_NE(earlier, lonely) << "else the earlier launch's work would be taken for the later's";
  EXPECT_EQ(trace.size(), 2u) << "both are kept";
  EXPECT_EQ(trace.external_id[find(trace, "of an earlier recorder", EventKind::kernel)], 0u);
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("1 launch without device work")));
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("1 device event of launches before")));
}

TEST(Recorder, ShadowsNestAndNeverCross) {
  Recorder recorder;
  const auto work_at = [&](base::Ns start, int64_t stream) {
    const WorkInfo work = kernel("k");
    const uint64_t correlation = recorder.launch_begin("hunchLaunchKernel", work);
    recorder.launch_end(correlation);
    recorder.device_work(correlation, work, stream, start, start + 10);
  };
  {
    const ScopedProbe on(&recorder);
    const Span outer(SpanKind::annotation, "outer");
    work_at(100, 7);
    {
      const Span inner(SpanKind::annotation, "inner");
      work_at(120, 7);
      work_at(300, 8);
    }
    work_at(140, 7);
    {
      const Span crossing(SpanKind::annotation, "crossing");
      work_at(145, 7);
      work_at(200, 7);
    }
  }
  const Trace trace = recorder.finish();
  std::map<std::string, int> shadows;
  for (EventId i = 0; i < trace.size(); ++i)
    if (trace.kind[i] == EventKind::device_annotation) ++shadows[std::string(trace.name_of(i))];
  EXPECT_EQ(shadows["outer"], 1);
  EXPECT_EQ(shadows["inner"], 2) << "one a stream";
  EXPECT_EQ(shadows.count("crossing"), 0u);
}

TEST(Recorder, StartsAfreshAfterFinish) {
  Recorder recorder;
  launch(recorder, kernel("first"));
  EXPECT_EQ(recorder.finish().size(), 2u);
  launch(recorder, kernel("second"));
  const Trace trace = recorder.finish();
  EXPECT_EQ(trace.size(), 2u);
  find(trace, "second", EventKind::kernel);
}

TEST(Recorder, TwoRecordersOnOneThreadKeepApart) {
  Recorder a, b;
  for (int i = 0; i < 10; ++i) {
    launch(a, kernel("a"));
    launch(b, kernel("b"));
  }
  const Trace of_a = a.finish(), of_b = b.finish();
  EXPECT_EQ(of_a.size(), 20u);
  EXPECT_EQ(of_b.size(), 20u);
  for (EventId i = 0; i < of_a.size(); ++i) EXPECT_NE(of_a.name_of(i), "b");
}

TEST(RecorderDeathTest, RefusesAnEndWithoutABegin) {
  Recorder recorder;
  EXPECT_DEATH(recorder.end_span(), "end_span without a span");
  const uint64_t one = recorder.launch_begin("hunchLaunchKernel", kernel("k"));
  EXPECT_DEATH(recorder.launch_end(one + 1), "another call");
  EXPECT_DEATH(recorder.end_span(), "inside of a launch");
}

// Four threads open spans and launch; a fifth, the stream, reports their work as it comes.
TEST(Recorder, ManyThreads) {
  constexpr int kThreads = 4, kForwards = 300;
  Recorder recorder;
  struct Slot {
    std::atomic<uint64_t> correlation{0};
  };
  std::vector<Slot> queue(kThreads * kForwards);
  std::atomic<int> queued{0};
  {
    const ScopedProbe on(&recorder);
    std::thread stream([&] {
      const WorkInfo work = kernel("k");
      for (auto& slot : queue) {
        uint64_t correlation = 0;
        while ((correlation = slot.correlation.load()) == 0) std::this_thread::yield();
        const base::Ns start = base::now_ns();
        base::current_probe()->device_work(correlation, work, 7, start, base::now_ns());
      }
    });
    std::vector<std::thread> hosts;
    for (int t = 0; t < kThreads; ++t) {
      hosts.emplace_back([&, t] {
        for (int i = 0; i < kForwards; ++i) {
          const Span outer(SpanKind::annotation, "thread " + std::to_string(t));
          const Span op(SpanKind::op, "op of " + std::to_string(t), "[[1]]");
          recorder.memory(8, 8);
          const uint64_t correlation = recorder.launch_begin("hunchLaunchKernel", kernel("k"));
          queue[static_cast<std::size_t>(queued.fetch_add(1))].correlation.store(correlation);
          recorder.launch_end(correlation);
        }
      });
    }
    for (auto& host : hosts) host.join();
    stream.join();
  }
  const Trace trace = recorder.finish();
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(trace.memory.size(), static_cast<std::size_t>(kThreads * kForwards));

  std::map<uint64_t, EventId> by_external_id, by_correlation;
  std::map<EventKind, int> count;
  std::set<uint32_t> host_tracks;
  for (EventId i = 0; i < trace.size(); ++i) {
    ++count[trace.kind[i]];
    if (trace.kind[i] == EventKind::op || trace.kind[i] == EventKind::annotation) {
      EXPECT_TRUE(by_external_id.emplace(trace.external_id[i], i).second) << "an id used twice";
      host_tracks.insert(trace.track[i]);
    }
    if (trace.kind[i] == EventKind::runtime_call) {
      EXPECT_TRUE(by_correlation.emplace(trace.correlation[i], i).second) << "a correlation used twice";
    }
  }
  EXPECT_EQ(count[EventKind::op], kThreads * kForwards);
  EXPECT_EQ(count[EventKind::annotation], kThreads * kForwards);
  EXPECT_EQ(count[EventKind::runtime_call], kThreads * kForwards);
  EXPECT_EQ(count[EventKind::kernel], kThreads * kForwards);
  EXPECT_EQ(host_tracks.size(), static_cast<std::size_t>(kThreads));
  base::Ns last = INT64_MIN;
  for (EventId i = 0; i < trace.size(); ++i) {
    if (trace.kind[i] == EventKind::kernel) {
      const EventId call = by_correlation.at(trace.correlation[i]);
      const EventId op = by_external_id.at(trace.external_id[i]);
      EXPECT_EQ(trace.kind[op], EventKind::op);
      EXPECT_TRUE(inside(trace, call, op)) << "the launch lies in the op whose id its work carries";
    } else if (trace.kind[i] != EventKind::device_annotation) {
      EXPECT_GE(trace.start[i], last) << "host events are sorted by start";
      last = trace.start[i];
    }
  }
}

}  // namespace
}  // namespace hunch::record
