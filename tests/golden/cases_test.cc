// Traces of the field whose device work is hard to join with what launched it: one small input a case, read
// and analysed, with the right value. The numbers are the rows of docs/formats.md; the other cases stand in
// tests/unit/formats/cases_test.cc.
#include "tests/unit/formats/cases.h"

#include <algorithm>

#include "hunch/analysis/accounting.h"
#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/report/report.h"

namespace hunch {
namespace {

using analysis::kNone;
using base::Ns;
using formats::event;
using formats::object;
using formats::read_case;

std::string launch(const std::string& name, int ts, int correlation,
                   const std::string& category = "cuda_runtime") {
  return event(category, name, std::to_string(ts), "2", fmt::format(R"("correlation": {})", correlation));
}
std::string kernel(const std::string& name, const std::string& ts, int correlation,
                   const std::string& more = {}) {
  return event("kernel", name, ts, "3",
               fmt::format(R"("device": 0, "stream": 7, "correlation": {}{})", correlation, more), "0", "7");
}

// What one rule finds in the forwards of a trace.
std::vector<analysis::rules::Finding> found_by(const std::string& rule, const analysis::Analysis& result) {
  auto findings = analysis::rules::find_all(result);
  std::erase_if(findings, [&](const auto& finding) { return finding.rule != rule; });
  return findings;
}

// An H100's limits of shared memory, and what else occupancy is worked out from.
constexpr const char* kH100 =
    R"("deviceProperties": [{"id": 0, "name": "H100", "computeMajor": 9, "computeMinor": 0, "numSms": 132,
       "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
       "regsPerMultiprocessor": 65536, "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448,
       "sharedMemPerMultiprocessor": 233472}], )";

TEST(Cases, T24_AKernelBeforeItsLaunchIsStillItsKernel) {
  const auto trace =
      read_case(object({launch("cuLaunchKernelEx", 10, 5, "cuda_driver"), kernel("nccl", "9.6", 5)}));
  EXPECT_EQ(analysis::build_timeline(trace).launch[1], 0u);
}

TEST(Cases, T25_T26_LaunchesWithoutKernels) {
  std::vector<std::string> events;
  for (int i = 0; i < 10; ++i) events.push_back(launch("cudaLaunchKernel", 10 * i, i + 1));
  for (int i = 4; i < 10; ++i) events.push_back(kernel("k", std::to_string(10 * i + 1), i + 1));
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.unlinked, 0u);
  EXPECT_EQ(result.timeline.device_order.size(), 6u);
  events.resize(10);
  EXPECT_EQ(analysis::analyze(read_case(object(events))).timeline.device_order.size(), 0u);
}

TEST(Cases, T28_ACollectiveWithCorrelationZero) {
  const auto trace = read_case(
      object({event("user_annotation", "step", "1", "50"), launch("hipExtLaunchKernel", 2, 29170),
              launch("hipLaunchKernel", 6, 7), kernel("ncclDevKernel_Generic(ncclDevKernelArgs)", "9", 0),
              kernel("gemm", "20", 7)}));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.unlinked, 1u);
  EXPECT_EQ(result.timeline.launch[3], kNone);
  EXPECT_EQ(result.timeline.launch[4], 2u);
  EXPECT_EQ(result.forwards[0].runs[0].work, std::vector<trace::EventId>{4});
  EXPECT_EQ(result.unattributed, std::vector<trace::EventId>{3});
  const auto statistics = report::explain(result, {}).statistics;
  EXPECT_EQ(statistics.unlinked_device_events, 1u);
  EXPECT_EQ(statistics.unattributed_device_events, 1u);
}

TEST(Cases, T30_M10_ExternalIdsMayMislead) {
  const auto trace = read_case(
      object({event("cpu_op", "aten::mm", "1", "20", R"("External id": 7)"),
              event("cpu_op", "aten::add", "30", "20", R"("External id": 5)"),
              event("cuda_runtime", "cudaLaunchKernel", "5", "2", R"("External id": 0, "correlation": 5)"),
              kernel("k", "40", 5, R"(, "External id": 5)")}));
  EXPECT_EQ(analysis::analyze(trace).outer_op(3), "aten::mm");
}

TEST(Cases, T31_LaunchCallsOfAnyName) {
  const auto trace =
      read_case(object({launch("cuLaunchKernelNew", 1, 5, "cuda_driver"), kernel("k", "4", 5)}));
  EXPECT_EQ(analysis::build_timeline(trace).launch[1], 0u);
}

TEST(Cases, T32_KernelsWhoseLaunchWasNotRecorded) {
  const auto trace =
      read_case(object({event("cpu_op", "x", "1", "9"), kernel("triton_poi_fused_add", "4", 5)}));
  EXPECT_EQ(analysis::build_timeline(trace).unlinked, 1u);
}

TEST(Cases, T33_M3_OneGraphLaunchManyKernels) {
  std::vector<std::string> events;
  for (int replay = 0; replay < 3; ++replay) {
    events.push_back(launch("hipGraphLaunch", 100 * replay, replay + 1));
    for (int k = 0; k < 6; ++k)
      events.push_back(kernel(fmt::format("k{}", k), std::to_string(100 * replay + 5 + 5 * k), replay + 1));
  }
  const auto trace = read_case(object(events));
  const auto timeline = analysis::build_timeline(trace);
  EXPECT_EQ(timeline.unlinked, 0u);
  for (trace::EventId e = 0; e < trace.size(); ++e)
    if (trace::is_device_work(trace.kind[e])) {
      EXPECT_EQ(timeline.launch[e], e / 7 * 7);
    }
}

// `shown`: the kernels that the trace shows of each replay; `ids`: of their graphs, in turns, or empty.
std::string replays(const std::vector<std::vector<int>>& shown, const std::vector<std::string>& ids) {
  std::vector<std::string> events = {event("user_annotation", "decode", "0", "1000")};
  for (std::size_t r = 0; r < shown.size(); ++r) {
    const auto ts = 100 * static_cast<int>(r), correlation = static_cast<int>(r) + 1;
    events.push_back(launch("cudaGraphLaunch", ts + 1, correlation));
    const std::string& id = ids[r % ids.size()];
    for (const int k : shown[r])
      events.push_back(
          kernel(fmt::format("k{}", k), std::to_string(ts + 5 + 5 * k), correlation,
                 id.empty() ? "" : fmt::format(R"(, "graph id": {}, "graph node id": {})", id, k)));
  }
  return object(events);
}

TEST(Cases, T34_ReplaysThatTheTraceShowsInPart) {
  const std::vector<int> all = {0, 1, 2, 3, 4, 5};
  const auto incomplete = [](const std::string& text) {
    const auto trace = read_case(text);
    return found_by("graph_incomplete", analysis::analyze(trace));
  };
  for (const std::vector<std::string>& ids : {std::vector<std::string>{""}, std::vector<std::string>{"9"}}) {
    const auto findings = incomplete(replays({all, all, {0, 1}}, ids));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].range, "decode");
    EXPECT_EQ(findings[0].claim,
              "1 of the trace's 3 replays of one graph shows only 2 of its 6 device events");
    EXPECT_NE(findings[0].cause.find("looks idle"), std::string::npos);
    EXPECT_NE(findings[0].advice.find("do not trust idle time"), std::string::npos);
    EXPECT_EQ(findings[0].events.size(), 2u);
    EXPECT_TRUE(incomplete(replays({all, all, all}, ids)).empty());
    const auto two = incomplete(replays({{4, 5}, all, {3, 4, 5}}, ids));
    ASSERT_EQ(two.size(), 1u);
    EXPECT_EQ(two[0].claim,
              "2 of the trace's 3 replays of one graph show as few as 2 of its 6 device events");
    // A gap within: sure by the graph's id only, else it may be another graph.
    EXPECT_EQ(incomplete(replays({all, all, {0, 1, 4, 5}}, ids)).size(), ids[0].empty() ? 0u : 1u);
  }
  // Two graphs, of which one begins like the other.
  EXPECT_TRUE(incomplete(replays({all, {0, 1}, all, {0, 1}}, {"9", "10"})).empty());
  // Nobody named the forward: the replay that lacks work is in none, and still told.
  std::string bare = replays({all, all, {0, 1}}, {""});
  bare.replace(bare.find("user_annotation"), 15, "gpu_user_annota");
  const auto unnamed = read_case(bare);
  const auto result = analysis::analyze(unnamed);
  ASSERT_EQ(result.forwards.size(), 1u);
  EXPECT_EQ(result.forwards[0].range, "graph replay of 6 kernels");
  EXPECT_EQ(found_by("graph_incomplete", result).size(), 1u);
}

TEST(Cases, T37_NothingButKernelsAndCalls) {
  const auto trace = read_case(object({launch("cudaLaunchKernel", 1, 5), kernel("k", "4", 5)}));
  const auto result = analysis::analyze(trace);
  ASSERT_EQ(result.forwards.size(), 1u);
  EXPECT_EQ(result.forwards[0].source, analysis::ForwardSource::whole_trace);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, 1);
}

TEST(Cases, T39_AChildThatEndsALittleLater) {
  const auto trace =
      read_case(object({event("cpu_op", "outer", "1", "10"), event("cpu_op", "inner", "2", "9.3")}));
  EXPECT_EQ(analysis::build_timeline(trace).parent[1], 0u);
}

TEST(Cases, T40_PythonFramesThatEndWhenTheProfilerStops) {
  std::vector<std::string> events = {event("user_annotation", "first", "10", "50"),
                                     event("user_annotation", "second", "100", "60")};
  // Calls of a custom op from C: each frame is still open when the profiler stops, at 1000.
  for (int i = 0; i < 5; ++i) {
    const int start = i < 3 ? 12 + 10 * i : 70 + 15 * i;
    events.push_back(event("python_function", "<built-in method my_op of PyCapsule object>",
                           std::to_string(start), std::to_string(1000 - start)));
    events.push_back(event("cpu_op", "my::op", fmt::format("{}.5", start), "6"));
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", fmt::format("{}", start + 2), "2",
                           fmt::format(R"("correlation": {})", i + 1)));
    events.push_back(kernel("my_kernel", std::to_string(start + 5), i + 1));
  }
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  ASSERT_EQ(result.forwards.size(), 2u);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, 3);
  EXPECT_EQ(result.forwards[0].runs[0].host_ns, 50'000);
  EXPECT_EQ(result.forwards[1].runs[0].kernels, 2);
  EXPECT_EQ(result.forwards[1].runs[0].host_ns, 60'000);
  for (const trace::EventId work : result.timeline.device_order) {
    // One op each: none lies in that of an earlier frame.
    EXPECT_EQ(analysis::op_stack(trace, result.timeline, work).size(), 1u);
    EXPECT_EQ(trace.duration[analysis::launching_op(trace, result.timeline, work)], 6'000);
  }
  // No part of a forward's wall time comes from the frames.
  for (const auto& forward : result.forwards) {
    const auto accounting = analysis::account(result, forward.runs[0]);
    EXPECT_EQ(accounting.whole(), forward.runs[0].host_ns);
    EXPECT_EQ(accounting.of(analysis::Part::busy), 3'000 * forward.runs[0].kernels);
  }
}

TEST(Cases, T50_KernelsThatHaveNoName) {
  const auto trace = read_case(
      object({launch("hipLaunchKernel", 1, 5), launch("hipLaunchKernel", 3, 6),
              launch("hipLaunchKernel", 5, 7), launch("hipLaunchKernel", 7, 8), kernel("Task", "10", 5),
              kernel("Marker", "14", 6), kernel("", "18", 7), kernel("my_TaskMarker", "22", 8)}));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, 4);
  const auto rows = report::kernel_rows(result, result.forwards[0]);
  ASSERT_EQ(rows.size(), 4u);
  for (const auto& row : rows) EXPECT_EQ(row.family, row.name == "my_TaskMarker" ? "unknown" : "unnamed");
}

TEST(Cases, T51_XpuCallsThatShareACorrelation) {
  const auto trace = read_case(
      object({launch("urEnqueueKernelLaunch", 1, 5, "xpu_driver"),
              launch("piEnqueueKernelLaunch", 1, 5, "xpu_runtime"),
              event("kernel", "gemm", "4", "3",
                    R"("device": 0, "sycl queue": 64, "l0 queue": "0x55", "correlation": 5)", "0", "0")}));
  EXPECT_EQ(analysis::build_timeline(trace).launch[2], 1u);  // the runtime's
  EXPECT_EQ(trace.device_detail(2)->stream, -1);
}

TEST(Cases, T55_TwoRanksInOneFileWithEqualIds) {
  std::vector<std::string> events;
  for (const char* rank : {R"("[TP00] 83")", R"("[TP01] 83")"}) {
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", "1", "2", R"("correlation": 5)", rank));
    events.push_back(
        event("kernel", "k", "4", "3", R"("device": 0, "stream": 7, "correlation": 5)", rank, "7"));
  }
  const auto timeline = analysis::build_timeline(read_case(object(events)));
  EXPECT_EQ(timeline.launch[1], 0u);
  EXPECT_EQ(timeline.launch[3], 2u);
}

TEST(Cases, T56_DeviceWorkWithoutOps) {
  const auto trace = read_case(object({kernel("k1", "4", 5), kernel("k2", "9", 6)}));
  const auto result = analysis::analyze(trace);
  ASSERT_EQ(result.forwards.size(), 1u);
  EXPECT_EQ(result.forwards[0].runs[0].kernels, 2);
  EXPECT_EQ(result.outer_op(0), "");
}

TEST(Cases, T61_M2_WorkFromBeforeTheTrace) {
  const auto trace = read_case(object({kernel("old", "1", 3), event("cpu_op", "x", "10", "9"),
                                       launch("cudaLaunchKernel", 11, 8), kernel("new", "15", 8)}));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.launch[0], kNone);
  EXPECT_EQ(result.unattributed, std::vector<trace::EventId>{0});
}

TEST(Cases, T62_WaitsAreOfTheOpThatMadeThem) {
  std::vector<std::string> events = {event("user_annotation", "forward", "1", "200")};
  const auto copy_and_wait = [&events](const std::vector<std::string>& ops, int ts, int correlation,
                                       const std::string& copy, int waited) {
    for (std::size_t i = 0; i < ops.size(); ++i)
      events.push_back(event("cpu_op", ops[i], fmt::format("{}.{}", ts, i), std::to_string(30 - i)));
    events.push_back(launch("cudaMemcpyAsync", ts + 1, correlation));
    events.push_back(event("cuda_runtime", "cudaStreamSynchronize", std::to_string(ts + 4),
                           std::to_string(waited), fmt::format(R"("correlation": {})", correlation + 1)));
    events.push_back(event(
        "gpu_memcpy", copy, std::to_string(ts + 5), "1",
        fmt::format(R"("device": 0, "stream": 7, "correlation": {}, "bytes": 4)", correlation), "0", "7"));
  };
  const std::vector<std::string> item = {"aten::item", "aten::_local_scalar_dense"};
  copy_and_wait(item, 10, 1, "Memcpy DtoH (Device -> Pageable)", 11);
  copy_and_wait(item, 50, 3, "Memcpy DtoH (Device -> Pageable)", 13);
  copy_and_wait({"aten::to", "aten::_to_copy", "aten::copy_"}, 90, 5, "Memcpy HtoD (Pageable -> Device)", 7);
  const auto trace = read_case(object(events));
  const auto findings = found_by("host_sync", analysis::analyze(trace));
  ASSERT_EQ(findings.size(), 2u);  // the most time first
  EXPECT_EQ(findings[0].claim, "2 waits for the device per forward, 24.0 us of host time (12 % of 200 us)");
  EXPECT_EQ(
      findings[0].cause,
      "`aten::item > aten::_local_scalar_dense` calls `cudaStreamSynchronize` after \"Memcpy DtoH (Device -> "
      "Pageable)\"");
  EXPECT_NE(findings[0].advice.find(".item()"), std::string::npos);
  EXPECT_EQ(findings[0].cost_ns, 24'000);
  EXPECT_EQ(findings[0].events.size(), 2u);
  EXPECT_EQ(findings[1].claim, "1 wait for the device per forward, 7.00 us of host time (3.5 % of 200 us)");
  EXPECT_EQ(
      findings[1].cause,
      "`aten::to > aten::_to_copy > aten::copy_` calls `cudaStreamSynchronize` after \"Memcpy HtoD (Pageable "
      "-> Device)\"");
  EXPECT_NE(findings[1].advice.find("pinned memory"), std::string::npos);
}

TEST(Cases, T63_TheCopyThatMaskedFillMakes) {
  std::vector<std::string> events = {event("user_annotation", "attention", "1", "200")};
  int ts = 10, correlation = 1;
  const auto op = [&](const std::vector<std::string>& ops, const std::string& category,
                      const std::string& name, const std::string& call = "cudaLaunchKernel") {
    for (std::size_t i = 0; i < ops.size(); ++i)
      events.push_back(
          event("cpu_op", ops[i], fmt::format("{}.{}", ts, i), fmt::format("{}.{}", 9, 8 - 2 * i)));
    events.push_back(launch(call, ts + 2, correlation));
    events.push_back(event(
        category, name, std::to_string(ts + 300), "5",
        fmt::format(R"("device": 0, "stream": 7, "correlation": {}, "bytes": 4096)", correlation), "0", "7"));
    ts += 3;
    ++correlation;
  };
  const auto next = [&ts] { ts += 10; };
  op({"aten::matmul", "aten::bmm"}, "kernel", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn");
  next();
  op({"aten::mul"}, "kernel",
     "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
     "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)");
  next();
  events.push_back(event("cpu_op", "aten::masked_fill", std::to_string(ts), "30"));
  ++ts;
  op({"aten::clone", "aten::copy_"}, "gpu_memcpy", "Memcpy DtoD (Device -> Device)", "cudaMemcpyAsync");
  next();
  op({"aten::masked_fill_"}, "kernel",
     "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<(anonymous "
     "namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)> >(int)");
  ts += 20;
  op({"aten::softmax", "aten::_softmax"}, "kernel",
     "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, "
     "false>(int)");
  next();
  op({"aten::matmul", "aten::bmm"}, "kernel", "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn");
  const auto trace = read_case(object(events));
  const auto result = analysis::analyze(trace);
  const auto& run = result.forwards.at(0).runs.at(0);
  EXPECT_EQ(run.kernels, 5);
  EXPECT_EQ(run.memcpys, 1);
  EXPECT_EQ(result.forwards[0].backend, "naive");
  const auto findings = found_by("hidden_copy", result);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].cause.find("`aten::masked_fill > aten::clone > aten::copy_` launches the copy"),
            std::string::npos)
      << findings[0].cause;
  EXPECT_EQ(findings[0].cost_ns, 5'000);
  EXPECT_EQ(findings[0].cost_bytes, 4096);
  EXPECT_EQ(findings[0].events, std::vector<trace::EventId>{run.work[2]});
}

TEST(Cases, M1_OccupancyZeroComesOfSharedMemoryAndNotOfTheCall) {
  struct Case {
    const char* call;
    int shared, grid, reported;
    double warps;
    bool wrong;  // the reported 0
  };
  // More than 48 KiB: 0 whatever launched it; up to there right, real zeros of tiny grids among them.
  for (const Case& each : {Case{"cudaLaunchKernel", 49168, 1320, 0, 80, true},
                           Case{"cudaLaunchKernelExC", 65536, 1320, 0, 80, true},
                           Case{"cuLaunchKernelEx", 65536, 1320, 0, 80, true},
                           Case{"cuLaunchKernelEx", 49152, 1320, 25, 80, false},
                           Case{"cudaLaunchKernel", 0, 1, 0, 0.06, false}}) {
    SCOPED_TRACE(fmt::format("{} {}", each.call, each.shared));
    const auto trace = read_case(
        object({event("user_annotation", "forward", "1", "50"), launch(each.call, 2, 5),
                kernel("k", "9", 5,
                       fmt::format(R"(, "grid": [{}, 1, 1], "block": [256, 1, 1], "registers per thread": 32,
                               "shared memory": {}, "warps per SM": {}, "est. achieved occupancy %": {})",
                                   each.grid, each.shared, each.warps, each.reported))},
               kH100));
    const auto result = analysis::analyze(trace);
    const auto rows = report::kernel_rows(result, result.forwards.at(0));
    ASSERT_EQ(rows.size(), 1u);
    ASSERT_TRUE(rows[0].occupancy);
    EXPECT_EQ(rows[0].occupancy->reported_pct, each.reported);
    // 8 warps a block; 64 fit; shared memory allows 4 blocks of 48 KiB and 1 KiB, 3 of 64 KiB and 1 KiB.
    EXPECT_EQ(rows[0].occupancy->theoretical_pct, each.shared == 0 ? 100 : each.shared > 49168 ? 37.5 : 50);
    const auto findings = found_by("occupancy_misreported", result);
    EXPECT_EQ(findings.size(), each.wrong ? 1u : 0u);
  }
}

TEST(Cases, M11_AnAmdDeviceHasNoSm) {
  const auto text_of = [](const std::string& devices) {
    const auto trace = read_case(object({launch("hipLaunchKernel", 1, 5), kernel("gemm", "4", 5)},
                                        R"("deviceProperties": [)" + devices + "], "));
    return report::explain(analysis::analyze(trace), {}).trace.device;
  };
  const std::string amd = R"("computeMajor": 9, "computeMinor": 0, "warpSize": 64})";
  const std::string nvidia = R"("computeMajor": 9, "computeMinor": 0, "warpSize": 32})";
  EXPECT_EQ(text_of(R"({"id": 0, "name": "AMD Instinct MI210", )" + amd), "AMD Instinct MI210");
  EXPECT_EQ(text_of(R"({"id": 0, "name": "", )" + amd), "");
  EXPECT_EQ(text_of(R"({"id": 0, "name": "", )" + amd + R"(, {"id": 1, "name": "", )" + amd),
            "2 devices, not named");
  EXPECT_EQ(text_of(R"({"id": 0, "name": "NVIDIA H100", )" + nvidia), "NVIDIA H100 (sm_90)");
  EXPECT_EQ(text_of(R"({"id": 0, "name": "", )" + nvidia), "sm_90");
}

TEST(Cases, M5_AKernelThatStartsBeforeItsLaunchCallReturns) {
  const auto trace = read_case(object(
      {event("user_annotation", "forward", "0", "100"),
       event("cuda_runtime", "cudaLaunchKernel", "10", "20", R"("correlation": 5)"), kernel("k", "15", 5),
       event("cuda_runtime", "cudaLaunchKernel", "40", "20", R"("correlation": 6)"), kernel("k", "70", 6)}));
  const auto result = analysis::analyze(trace);
  EXPECT_EQ(result.timeline.launch[2], 1u);
  const auto accounting = analysis::account(result, result.forwards.at(0).runs.at(0));
  using analysis::Part;
  EXPECT_EQ(accounting.of(Part::busy), 6'000);
  // The first waits for its call up to its own start; the second for all of its call, then for the device.
  EXPECT_EQ(accounting.of(Part::wait_launch), 5'000 + 20'000);
  EXPECT_EQ(accounting.of(Part::wait_device), 10'000);
  EXPECT_EQ(accounting.of(Part::wait_host), 10'000 + 22'000);
  EXPECT_EQ(accounting.of(Part::after_work), 27'000);
  Ns sum = 0;
  for (const Ns part : accounting.total) {
    EXPECT_GE(part, 0);
    sum += part;
  }
  EXPECT_EQ(sum, 100'000);
}

TEST(Cases, M4_T21_BusyTimeIsTheUnion) {
  const auto trace =
      read_case(object({launch("cudaLaunchKernelExC", 1, 5), launch("cudaLaunchKernelExC", 3, 6),
                        kernel("a", "10", 5), kernel("b", "12", 6)}));
  const auto result = analysis::analyze(trace);
  const auto& run = result.forwards[0].runs[0];
  EXPECT_EQ(run.device_ns, 6000);
  EXPECT_EQ(run.busy_ns, 5000);
}

TEST(Cases, M9_OpsOfOneMicrosecondNestByTheirIds) {
  std::vector<std::string> events = {event("cpu_op", "aten::to", "5", "2", R"("External id": 7)"),
                                     event("cpu_op", "aten::_to_copy", "5", "2", R"("External id": 8)"),
                                     launch("cudaMemcpyAsync", 5, 3), kernel("k", "10", 3)};
  for (int i = 0; i < 2; ++i) {
    const auto trace = read_case(object(events));
    const auto result = analysis::analyze(trace);
    EXPECT_EQ(result.outer_op(3), "aten::to");
    EXPECT_EQ(result.inner_op(3), "aten::_to_copy");
    std::swap(events[0], events[1]);
  }
}

TEST(Cases, ShuffledEventsAreTheSameTrace) {
  std::vector<std::string> events = {event("user_annotation", "forward", "1", "50"),
                                     event("cpu_op", "aten::mm", "2", "20"), launch("cudaLaunchKernel", 5, 5),
                                     kernel("k", "10", 5)};
  for (int i = 0; i < 24; ++i) {
    std::next_permutation(events.begin(), events.end());
    const auto trace = read_case(object(events));
    const auto result = analysis::analyze(trace);
    ASSERT_EQ(result.forwards.size(), 1u);
    EXPECT_EQ(result.forwards[0].range, "forward");
    EXPECT_EQ(result.forwards[0].runs[0].kernels, 1);
  }
}

}  // namespace
}  // namespace hunch
