// The CUDA recorder on a GPU: what CUPTI sees of launches of every kind, on one clock with the spans.
// Skipped, with the reason, where there is no GPU or where CUPTI may not be used.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "hunch/analysis/analysis.h"
#include "hunch/formats/reader.h"
#include "hunch/formats/writer.h"
#include "hunch/record/device_tracer.h"
#include "hunch/record/recorder.h"
#include "hunch/tensor/cuda.h"
#include "hunch/tensor/cuda_device.h"
#include "tests/unit/formats/same_trace.h"
#include "tests/unit/record/cuda/kernels.h"

namespace hunch::record {
namespace {

namespace kernels = testing_kernels;
using base::ScopedProbe;
using base::Span;
using base::SpanKind;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::EventId;
using trace::EventKind;
using trace::kNone;
using trace::Trace;

constexpr int kBlocks = 264;
constexpr int kThreads = 128;
constexpr base::Ns kSkew = 20'000;  // between the device's clock, as CUPTI converts it, and the host's

trace::DeviceProperties properties_of(const tensor::CudaDevice& device) {
  const tensor::CudaProperties& has = device.properties();
  trace::DeviceProperties properties;
  properties.id = device.info().index;
  properties.name = device.info().name;
  properties.compute_major = has.compute_major;
  properties.compute_minor = has.compute_minor;
  properties.multiprocessors = has.multiprocessors;
  properties.warp_size = has.warp_size;
  properties.max_threads_per_block = has.max_threads_per_block;
  properties.max_threads_per_multiprocessor = has.max_threads_per_multiprocessor;
  properties.registers_per_multiprocessor = has.registers_per_multiprocessor;
  properties.shared_bytes_per_block = has.shared_bytes_per_block;
  properties.shared_bytes_per_block_optin = has.shared_bytes_per_block_optin;
  properties.shared_bytes_per_multiprocessor = has.shared_bytes_per_multiprocessor;
  properties.memory_bytes = has.memory_bytes;
  return properties;
}

class Cupti : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = tensor::open_cuda();
    if (!opened) GTEST_SKIP() << base::describe(opened.error());
    device_ = std::move(*opened);
    auto tracer = open_device_tracer();
    if (!tracer) GTEST_SKIP() << base::describe(tracer.error());
    tracer_ = std::move(*tracer);
    data_ = static_cast<float*>(device_->allocate(kBytes));
  }
  void TearDown() override {
    tracer_.reset();
    if (data_ != nullptr) device_->release(data_, kBytes);
    device_.reset();
  }

  tensor::CudaDevice& cuda() { return *device_->as_cuda(); }
  void launch(base::FunctionRef<int(void*)> body) {
    base::WorkInfo work;
    work.name = "add_one";
    cuda().launch(work, body);
  }
  void add_one(int times = 1) {
    for (int i = 0; i < times; ++i)
      launch([&](void* stream) { return kernels::add_one(stream, data_, kBlocks, kThreads, 0); });
  }
  void begin(Recorder& recorder) {
    device_->synchronize();
    const base::Status started = recorder.start();
    ASSERT_TRUE(started) << base::describe(started.error());
    recorder.add_device(properties_of(cuda()));
  }
  Trace end(Recorder& recorder) {
    device_->synchronize();
    return recorder.finish();
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
  static EventId call_of(const Trace& trace, EventId work) {
    for (EventId i = 0; i < trace.size(); ++i)
      if (trace::is_api_call(trace.kind[i]) && trace.correlation[i] == trace.correlation[work]) return i;
    ADD_FAILURE() << trace.name_of(work) << " has no call";
    return kNone;
  }
  static std::string name_of(const Trace& trace, EventId event) {
    return event == kNone ? std::string() : std::string(trace.name_of(event));
  }
  static std::string calls(const Trace& trace) {
    std::string text;
    for (EventId i = 0; i < trace.size(); ++i)
      if (trace::is_api_call(trace.kind[i])) text += std::string(trace.name_of(i)) + " ";
    return text;
  }

  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  std::unique_ptr<tensor::Device> device_;
  std::unique_ptr<DeviceTracer> tracer_;
  float* data_ = nullptr;
};

TEST_F(Cupti, AForwardOfEveryKindOfWork) {
  add_one();  // loads the module
  Recorder recorder(tracer_.get());
  begin(recorder);
  {
    const ScopedProbe on(&recorder);
    const Span step(SpanKind::step, "ProfilerStep#0");
    {
      const Span range(SpanKind::annotation, "attn_fwd");
      {
        const Span op(SpanKind::op, "two kernels");
        add_one(2);
      }
      {
        const Span outer(SpanKind::op, "outer");
        {
          const Span inner(SpanKind::op, "inner");
          launch([&](void* stream) {
            return cudaMemcpyAsync(data_, data_ + 1024, 4096, cudaMemcpyDeviceToDevice,
                                   static_cast<cudaStream_t>(stream));
          });
        }
        launch(
            [&](void* stream) { return cudaMemsetAsync(data_, 0, 512, static_cast<cudaStream_t>(stream)); });
      }
    }
    device_->synchronize();
  }
  const Trace trace = end(recorder);
  SCOPED_TRACE(calls(trace));
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(all(trace, EventKind::kernel).size(), 2u);
  const EventId copy = one(trace, EventKind::memcpy, "Memcpy DtoD (Device -> Device)");
  const EventId set = one(trace, EventKind::memset, "Memset (Device)");
  ASSERT_NE(copy, kNone);
  ASSERT_NE(set, kNone);
  EXPECT_EQ(trace.device_detail(copy)->bytes, 4096);
  EXPECT_EQ(trace.device_detail(set)->bytes, 512);
  EXPECT_EQ(trace.external_id[copy], trace.external_id[one(trace, EventKind::op, "inner")]);
  EXPECT_EQ(trace.external_id[set], trace.external_id[one(trace, EventKind::op, "outer")]);
  EXPECT_EQ(name_of(trace, call_of(trace, copy)), "cudaMemcpyAsync");
  EXPECT_EQ(name_of(trace, call_of(trace, set)), "cudaMemsetAsync");
  const EventId step = one(trace, EventKind::step, "ProfilerStep#0");
  for (const EventId kernel : all(trace, EventKind::kernel)) {
    EXPECT_THAT(std::string(trace.name_of(kernel)), HasSubstr("add_one_kernel(float*)"));
    EXPECT_EQ(trace.external_id[kernel], trace.external_id[one(trace, EventKind::op, "two kernels")]);
    const trace::DeviceDetail& detail = *trace.device_detail(kernel);
    EXPECT_GT(detail.registers, 0);
    EXPECT_EQ(detail.shared_bytes, 0);
    EXPECT_EQ(detail.grid, (std::array<uint32_t, 3>{kBlocks, 1, 1}));
    EXPECT_EQ(detail.block, (std::array<uint32_t, 3>{kThreads, 1, 1}));
    EXPECT_EQ(detail.device, 0);
    EXPECT_GT(detail.driver_blocks, 0);
    EXPECT_GT(trace.duration[kernel], 0);
    const EventId call = call_of(trace, kernel);
    ASSERT_NE(call, kNone);
    EXPECT_EQ(trace.kind[call], EventKind::runtime_call);
    EXPECT_EQ(trace.name_of(call), "cudaLaunchKernel");
    EXPECT_EQ(trace.track[call], trace.track[step]);
    EXPECT_GE(trace.start[call], trace.start[step]) << "calls have the spans' own clock";
    EXPECT_LE(trace.end(call), trace.end(step));
    EXPECT_GE(trace.start[kernel], trace.start[call] - kSkew);
    EXPECT_LE(trace.end(kernel), trace.end(step) + kSkew) << "the step waits for its work";
  }
  EXPECT_THAT(all(trace, EventKind::runtime_call, "cudaStreamSynchronize"), testing::Not(IsEmpty()));
  EXPECT_FALSE(all(trace, EventKind::sync).empty());
  EXPECT_EQ(trace.metadata.count("cupti_version"), 1u);

  const auto again = formats::read_trace_bytes(formats::chrome_json_text(trace), "written");
  ASSERT_TRUE(again) << base::describe(again.error());
  formats::expect_same_trace(trace, *again, true);
}

TEST_F(Cupti, EveryWayToLaunch) {
  add_one();
  Recorder recorder(tracer_.get());
  begin(recorder);
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "launches");
    launch([&](void* stream) { return kernels::add_one_in_clusters(stream, data_, kBlocks, kThreads, 2); });
    launch([&](void* stream) { return kernels::add_one_cooperatively(stream, data_, 64, kThreads); });
    launch([&](void* stream) { return kernels::add_one_by_driver(stream, data_, kBlocks, kThreads); });
    launch([&](void* stream) { return kernels::add_one(stream, data_, kBlocks, kThreads, 100 * 1024); });
    launch([&](void* stream) { return kernels::add_one_in_graph(stream, data_, kBlocks, kThreads, 3); });
  }
  const Trace trace = end(recorder);
  SCOPED_TRACE(calls(trace));
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  const auto work = all(trace, EventKind::kernel);
  ASSERT_EQ(work.size(), 7u);
  std::vector<std::string> launches;
  for (const EventId kernel : work) {
    const EventId call = call_of(trace, kernel);
    ASSERT_NE(call, kNone);
    launches.emplace_back(trace.name_of(call));
    EXPECT_EQ(trace.kind[call],
              launches.back().starts_with("cuda") ? EventKind::runtime_call : EventKind::driver_call);
    EXPECT_EQ(trace.external_id[kernel], trace.external_id[one(trace, EventKind::op, "launches")]);
  }
  EXPECT_THAT(launches, testing::ElementsAre("cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
                                             "cuLaunchKernelEx", "cudaLaunchKernel", "cudaGraphLaunch",
                                             "cudaGraphLaunch", "cudaGraphLaunch"));
  EXPECT_EQ(trace.device_detail(work[3])->shared_bytes, 100 * 1024);
  std::set<int64_t> nodes;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const trace::DeviceDetail& detail = *trace.device_detail(work[i]);
    EXPECT_EQ(detail.graph_node_id >= 0, i >= 4);
    if (i < 4) {
      EXPECT_GT(detail.driver_blocks, 0) << launches[i];
    }
    if (i >= 4) nodes.insert(detail.graph_node_id);
  }
  EXPECT_EQ(nodes.size(), 3u);
}

// The driver's calculator and hunch's arithmetic on the trace's fields.
TEST_F(Cupti, OccupancyEqualsTheDrivers) {
  Recorder recorder(tracer_.get());
  begin(recorder);
  const auto most = static_cast<std::size_t>(cuda().properties().shared_bytes_per_block_optin);
  {
    const ScopedProbe on(&recorder);
    for (const int threads : {32, 64, 96, 128, 160, 192, 224, 256, 384, 512, 768, 1024}) {
      for (const std::size_t shared :
           {std::size_t{0}, std::size_t{1000}, std::size_t{8'192}, std::size_t{24'000}, std::size_t{49'152},
            std::size_t{56'000}, std::size_t{76'800}, std::size_t{113'000}, std::size_t{160'000}, most}) {
        if (shared > most) continue;
        launch([&](void* stream) { return kernels::add_one(stream, data_, 132, threads, shared); });
        if (threads > 256) continue;
        launch([&](void* stream) { return kernels::add_one_slowly(stream, data_, 132, threads, shared); });
      }
    }
  }
  const Trace trace = end(recorder);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  std::set<int> seen;
  const auto work = all(trace, EventKind::kernel);
  EXPECT_EQ(work.size(), 200u);
  for (const EventId kernel : work) {
    const trace::DeviceDetail& detail = *trace.device_detail(kernel);
    const auto occupancy = analysis::compute_occupancy(detail, trace.devices.at(0));
    ASSERT_TRUE(occupancy);
    EXPECT_EQ(occupancy->blocks_per_multiprocessor, detail.driver_blocks)
        << detail.block[0] << " threads, " << detail.registers << " registers, " << detail.shared_bytes
        << " bytes, limited by " << occupancy->limited_by;
    seen.insert(detail.driver_blocks);
  }
  EXPECT_GT(seen.size(), 8u);
}

TEST_F(Cupti, LosesNothing) {
  constexpr int kOps = 5'000, kLaunches = 4;
  add_one();
  Recorder recorder(tracer_.get());
  begin(recorder);
  {
    const ScopedProbe on(&recorder);
    for (int i = 0; i < kOps; ++i) {
      const Span op(SpanKind::op, "op");
      add_one(kLaunches);
    }
  }
  const Trace trace = end(recorder);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(all(trace, EventKind::kernel).size(), static_cast<std::size_t>(kOps * kLaunches));
  EXPECT_EQ(all(trace, EventKind::runtime_call, "cudaLaunchKernel").size(),
            static_cast<std::size_t>(kOps * kLaunches));
  std::map<uint64_t, int> of_op;
  std::set<uint64_t> correlations;
  for (const EventId kernel : all(trace, EventKind::kernel)) {
    ++of_op[trace.external_id[kernel]];
    correlations.insert(trace.correlation[kernel]);
  }
  EXPECT_EQ(of_op.size(), static_cast<std::size_t>(kOps));
  EXPECT_EQ(correlations.size(), static_cast<std::size_t>(kOps * kLaunches));
  for (const auto& [id, count] : of_op) {
    EXPECT_NE(id, 0u);
    EXPECT_EQ(count, kLaunches);
  }
}

TEST_F(Cupti, ThreadsAndTheirOps) {
  constexpr int kHosts = 4, kOps = 200;
  add_one();
  Recorder recorder(tracer_.get());
  begin(recorder);
  {
    const ScopedProbe on(&recorder);
    std::vector<std::thread> hosts;
    for (int t = 0; t < kHosts; ++t) {
      hosts.emplace_back([&, t] {
        for (int i = 0; i < kOps; ++i) {
          const Span op(SpanKind::op, "of thread " + std::to_string(t));
          add_one();
        }
      });
    }
    for (auto& host : hosts) host.join();
  }
  const Trace trace = end(recorder);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  std::map<uint64_t, EventId> ops;
  for (const EventId op : all(trace, EventKind::op)) ops[trace.external_id[op]] = op;
  const auto work = all(trace, EventKind::kernel);
  EXPECT_EQ(work.size(), static_cast<std::size_t>(kHosts * kOps));
  std::map<uint64_t, EventId> call_by_correlation;
  for (const EventId call : all(trace, EventKind::runtime_call))
    call_by_correlation[trace.correlation[call]] = call;
  std::set<uint64_t> used;
  for (const EventId kernel : work) {
    ASSERT_TRUE(ops.count(trace.external_id[kernel]));
    const EventId op = ops[trace.external_id[kernel]];
    ASSERT_TRUE(call_by_correlation.count(trace.correlation[kernel]));
    const EventId call = call_by_correlation[trace.correlation[kernel]];
    EXPECT_EQ(trace.track[call], trace.track[op]);
    EXPECT_GE(trace.start[call], trace.start[op]);
    EXPECT_LE(trace.end(call), trace.end(op));
    used.insert(trace.external_id[kernel]);
  }
  EXPECT_EQ(used.size(), work.size());
}

TEST_F(Cupti, RecordersFollowEachOtherOnOneTracer) {
  Recorder warmup(tracer_.get()), active(tracer_.get());
  begin(warmup);
  {
    const ScopedProbe on(&warmup);
    add_one(3);
  }
  device_->synchronize();
  begin(active);
  {
    const ScopedProbe on(&active);
    add_one(5);
  }
  const Trace trace = end(active);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(all(trace, EventKind::kernel).size(), 5u);
  tracer_->stop();
  add_one(7);
  Recorder later(tracer_.get());
  begin(later);
  {
    const ScopedProbe on(&later);
    add_one();
  }
  EXPECT_EQ(all(end(later), EventKind::kernel).size(), 1u) << "what ran while it stopped is no one's";
}

TEST_F(Cupti, OneTracerAtATime) {
  const auto second = open_device_tracer();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::ErrorCode::environment);
  tracer_.reset();
  auto third = open_device_tracer();
  ASSERT_TRUE(third) << base::describe(third.error());
  Recorder recorder(third->get());
  begin(recorder);
  {
    const ScopedProbe on(&recorder);
    add_one(2);
  }
  EXPECT_EQ(all(end(recorder), EventKind::kernel).size(), 2u);
}

// Without a tracer the device times its launches by events; the counts of hunch's own launches are the same.
TEST_F(Cupti, WithoutATracerEventsTime) {
  tracer_.reset();
  Recorder recorder;
  begin(recorder);
  {
    const ScopedProbe on(&recorder);
    const Span op(SpanKind::op, "op");
    add_one(3);
    device_->synchronize();
  }
  const Trace trace = end(recorder);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  const auto work = all(trace, EventKind::kernel, "add_one");
  ASSERT_EQ(work.size(), 3u);
  for (const EventId kernel : work) {
    EXPECT_GT(trace.duration[kernel], 0);
    EXPECT_EQ(trace.device_detail(kernel)->registers, -1);
    EXPECT_EQ(trace.external_id[kernel], trace.external_id[one(trace, EventKind::op, "op")]);
  }
}

}  // namespace
}  // namespace hunch::record
