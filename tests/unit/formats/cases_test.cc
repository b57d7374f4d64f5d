// What traces of the field are like, as reports of users and writers' histories tell: one small input a case,
// with the right value. docs/formats.md has the table of them; the numbers are its rows. Cases about how
// device work is joined with what launched it stand in tests/golden/cases_test.cc.
#include "tests/unit/formats/cases.h"

#include <gmock/gmock.h>

#include "tests/unit/formats/pack.h"

namespace hunch::formats {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using trace::EventKind;

const std::string kGood = event("cpu_op", "good", "1", "1");

TEST(Cases, T01_BackslashesOfWindowsPathsAreKept) {
  const auto trace =
      read_case(object({event("python_function", R"(torch\cuda\__init__.py(219): _lazy_init)", "1", "1"),
                        event("python_function", R"(C:\u12\x.py)", "2", "1")}));
  EXPECT_EQ(trace.name_of(0), R"(torch\cuda\__init__.py(219): _lazy_init)");
  EXPECT_EQ(trace.name_of(1), R"(C:\u12\x.py)");
  EXPECT_THAT(trace.stats.repaired, Contains(Pair(HasSubstr("invalid escape"), 2)));
}

TEST(Cases, T02_BareQuotesInNamesOfPythonFunctions) {
  const std::string dict = R"({"device": "cpu", "index": 0}(12): run)";
  const auto trace = read_case(object({kGood, event("python_function", dict, "2", "1"), kGood}));
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace.name_of(1), dict);
}

TEST(Cases, T03_QuotesInMetadataEventsAndDoubledInArgs) {
  const auto trace = read_case(
      object({kGood, R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "a "b" c"}})",
              event("kernel", "ncclDevKernel", "2", "1", R"("Collective name": ""allreduce"", "stream": 7)",
                    "0", "7")}));
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.tracks[trace.track[0]].name, "a \"b\" c");
  EXPECT_EQ(trace.device_detail(1)->stream, 7);
}

TEST(Cases, T04_ABrokenTailCostsNoEvent) {
  const auto trace =
      read_case(object({kGood, kGood}, "", R"(, "INFO": ["cudaEvent "event_id": 64", "a\b"], "x": 1)"));
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.stats.skipped, 0u);
}

TEST(Cases, T06_T07_InvalidUtf8InNamesAndArgs) {
  const auto trace = read_case(object(
      {event("cpu_op", "a\x80\xC3(\xFF", "1", "1"),
       event("cuda_runtime", "hipModuleLoad", "2", "1", "\"fname\": \"\xFF\xFE\", \"correlation\": 9")}));
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.name_of(0), "a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD");
  EXPECT_EQ(trace.correlation[1], 9u);
}

TEST(Cases, T08_NumbersAboveInt64) {
  const auto trace =
      read_case(object({event("kernel", "nccl", "1", "1",
                              R"("Comms Id": 18446744073709551615, "correlation": 18446744073709551615)")}));
  EXPECT_EQ(trace.correlation[0], UINT64_MAX);
  EXPECT_EQ(trace.stats.skipped, 0u);
}

TEST(Cases, T10_NegativeMeansNotSaid) {
  const auto trace = read_case(object({event(
      "kernel", "k", "1", "1",
      R"("blocks per SM": -1.0, "warps per SM": -1, "est. achieved occupancy %": -1, "registers per thread": -1, "stream": 7)")}));
  const auto* detail = trace.device_detail(0);
  EXPECT_EQ(detail->blocks_per_sm, -1);
  EXPECT_EQ(detail->reported_occupancy_pct, -1);
  EXPECT_EQ(detail->registers, -1);
}

TEST(Cases, T11_T12_AnEventBeyondRepairCostsItself) {
  const auto trace = read_case(
      object({kGood, event("cpu_op", "x", "1", "1", R"("Call stack": model.py(12): forward)"), kGood,
              R"({"ph": "s", "id": 5, "pid": 0, tid": 0, "ts": 1, "cat": "ac2g", "name": "ac2g"})", kGood}));
  EXPECT_EQ(trace.size(), 3u);
  EXPECT_THAT(trace.stats.reasons, ElementsAre(Pair("damaged JSON", 2)));
}

TEST(Cases, T13_TheAutogradExporterOf2020) {
  const auto trace = read_case(
      R"([{"name": "mul", "ph": "X", "ts": 5.5, "dur": 2, "tid": 1, "pid": "CPU functions", "args": {}},
      {"name": "k", "ph": "X", "ts": 6, "dur": 1, "tid": 0, "pid": "CUDA functions", "args": {}}])");
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.kind[0], EventKind::other);  // it has no categories
  EXPECT_EQ(trace.tracks[trace.track[1]].pid, "CUDA functions");
}

TEST(Cases, T15_AMalformedNumberIsItsEventsAlone) {
  const auto trace =
      read_case(object({kGood, event("Trace", "PyTorch Profiler (0)", "1", "-1.-500"), kGood}));
  EXPECT_EQ(trace.size(), 2u);
  EXPECT_THAT(trace.stats.reasons, ElementsAre(Pair("duration is no number or out of range", 1)));
}

TEST(Cases, T16_BaseTimeNowhereBeforeAndBehind) {
  const std::vector<std::string> events = {event("cpu_op", "x", "2.5", "1")};
  const std::string base = R"("baseTimeNanoseconds": 1700000000000000000)";
  EXPECT_EQ(read_case(object(events)).start[0], 2500);
  EXPECT_EQ(read_case(object(events, base + ", ")).start[0], 1700000000000002500);
  EXPECT_EQ(read_case(object(events, "", ", " + base)).start[0], 1700000000000002500);
}

TEST(Cases, T17_TimesAsTextAndLargeFlowIds) {
  const auto trace = read_case(object(
      {event("kernel", "k", R"("1778650000000000.123")", R"("0.5")"),
       R"({"ph": "s", "id": 9007199254740993, "cat": "async_npu", "name": "f", "pid": 1, "tid": 1, "ts": "1.0"})"}));
  EXPECT_EQ(trace.start[0], 1778650000000000123);
  EXPECT_EQ(trace.duration[0], 500);
  EXPECT_THAT(trace.stats.ignored, ElementsAre(Pair("flow arrow", 1)));
}

TEST(Cases, T20_DurationsOfCenturies) {
  const auto trace =
      read_case(object({kGood, event("kernel", "k", "1", "7.4e15"), event("kernel", "k", "1", "-2")}));
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_THAT(trace.stats.reasons,
              ElementsAre(Pair("duration over 7 days", 1), Pair("negative duration", 1)));
}

TEST(Cases, T22_OverlapOnOneTrackIsKept) {
  const auto trace = read_case(object(
      {event("kernel", "a", "3", "3.776", "", "0", "7"), event("kernel", "b", "5", "2", "", "0", "7")}));
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_GT(trace.end(0), trace.start[1]);
}

TEST(Cases, T36_GraphAndNodeIds) {
  std::vector<std::string> events;
  for (const char* category : {"kernel", "gpu_memcpy", "gpu_memset"})
    events.push_back(event(category, "k", "1", "1", R"("graph id": 3, "graph node id": 12884901889)"));
  const auto trace = read_case(object(events));
  for (trace::EventId i = 0; i < 3; ++i) {
    EXPECT_EQ(trace.device_detail(i)->graph_id, 3);
    EXPECT_EQ(trace.device_detail(i)->graph_node_id, 12884901889);
  }
}

TEST(Cases, T42_IdsOfPythonFrames) {
  const auto trace = read_case(
      object({event("python_function", "f", "1", "9", R"("Python id": 2, "Python parent id": 1)"),
              event("python_function", "g", "1", "9", R"("Python id": 3, "Python parent id": null)")}));
  EXPECT_EQ(trace.op_detail(0)->python_parent, 1);
  EXPECT_EQ(trace.op_detail(1)->python_parent, -1);
}

TEST(Cases, T43_NanosecondsAreWhole) {
  const auto trace = read_case(object({event("kernel", "k", "100.7", "0.2")}));
  EXPECT_EQ(trace.start[0], 100700);
  EXPECT_EQ(trace.duration[0], 200);
}

TEST(Cases, T44_SynchronisationsAreNoWork) {
  const auto trace =
      read_case(object({event("cuda_sync", "Stream Sync", "1", "5", R"("stream": 7)", "0", "7"),
                        event("cuda_sync", "Stream Sync", "1", "5", R"("stream": 7)", "0", "1000007")}));
  for (trace::EventId i = 0; i < 2; ++i) {
    EXPECT_EQ(trace.kind[i], EventKind::sync);
    EXPECT_FALSE(trace::is_device_work(trace.kind[i]));
  }
}

TEST(Cases, T45_ShadowsOfRangesAreNoWork) {
  const auto trace = read_case(object({event("gpu_user_annotation", "forward", "1", "9", "", "0", "7")}));
  EXPECT_EQ(trace.kind[0], EventKind::device_annotation);
  EXPECT_FALSE(trace::is_device_work(trace.kind[0]));
}

TEST(Cases, T46_NegativeThreadIds) {
  const auto trace = read_case(
      object({event("cpu_op", "a", "1", "1", "", "1", "-5"), event("cpu_op", "b", "1", "1", "", "1", "5")}));
  EXPECT_NE(trace.track[0], trace.track[1]);
  EXPECT_EQ(trace.tracks[trace.track[0]].tid, "-5");
}

TEST(Cases, T47_CountersWithAnEmptyKey) {
  const auto trace = read_case(object(
      {kGood, R"({"ph": "C", "name": "g", "pid": "GPU 0 Counters", "tid": 0, "ts": 1, "args": {"": 5}})"}));
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_THAT(trace.stats.ignored, ElementsAre(Pair("counter", 1)));
}

TEST(Cases, T49_M11_RocmSaysLittle) {
  const auto trace = read_case(object(
      {event("cuda_runtime", "hipModuleLaunchKernel", "1", "1", R"("correlation": 4)"),
       event("kernel", "_ZN2ck13kernel_gemm_xE", "2", "1", R"("stream": 3, "correlation": 4)", "2", "3")},
      R"("deviceProperties": [{"id": 2, "name": "AMD Instinct MI300X", "warpSize": 64, "maxSharedMemoryPerMultiProcessor": 65536}], )"));
  EXPECT_EQ(trace.kind[0], EventKind::runtime_call);
  const auto* detail = trace.device_detail(1);
  EXPECT_EQ(detail->registers, -1);
  EXPECT_EQ(detail->shared_bytes, -1);
  EXPECT_THAT(detail->grid, ElementsAre(0, 0, 0));
  EXPECT_EQ(trace.device(2)->warp_size, 64);
}

TEST(Cases, T55_ProcessIdsAsText) {
  const auto trace = read_case(object({event("cpu_op", "a", "1", "1", "", R"("[TP00-DP01-PP00-EP00] 83")"),
                                       event("cpu_op", "a", "1", "1", "", R"("[TP01-DP01-PP00-EP00] 83")")}));
  EXPECT_EQ(trace.tracks[trace.track[0]].pid, "[TP00-DP01-PP00-EP00] 83");
  EXPECT_NE(trace.track[0], trace.track[1]);
}

TEST(Cases, T57_PythonWordsAndStreamsThatAreNoNumbers) {
  const auto trace = read_case(object(
      {event("kernel", "k", "1", "1", R"("flag": True, "none": None, "stream": "default", "device": 0)")}));
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.device_detail(0)->stream, -1);
  EXPECT_EQ(trace.device_detail(0)->device, 0);
  EXPECT_THAT(trace.stats.repaired, Contains(Pair(HasSubstr("wrong type"), 1)));
}

TEST(Cases, T59_FlowStartsWithABindingPoint) {
  const auto trace = read_case(object(
      {kGood,
       R"({"ph": "s", "bp": "e", "id": 1, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"})"}));
  EXPECT_EQ(trace.size(), 1u);
}

TEST(Cases, T60_BeginsAndEndsPairByStack) {
  const auto phase = [](char ph, int ts, const std::string& name) {
    return fmt::format(R"({{"ph": "{}", "pid": 1, "tid": 1, "ts": {}{}}})", ph, ts,
                       name.empty() ? "" : R"(, "name": ")" + name + "\"");
  };
  const auto trace = read_case(object({phase('B', 1, "a"), phase('B', 2, "b"), phase('E', 4, ""),
                                       phase('E', 9, ""), phase('E', 10, ""), phase('B', 11, "open")}));
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.duration[0], 8000);
  EXPECT_EQ(trace.duration[1], 2000);
  EXPECT_THAT(trace.stats.reasons,
              ElementsAre(Pair("begin without an end", 1), Pair("end without a begin", 1)));
}

TEST(Cases, T64_FormatsAreToldByBytesNotNames) {
  EXPECT_EQ(read_trace_bytes(gzip(object({kGood})), "x.json")->size(), 1u);
  EXPECT_EQ(read_trace_bytes(object({kGood}), "x.pt.trace.json.gz")->size(), 1u);
  const auto zip = read_trace_bytes("PK\x03\x04rest", "x.json");
  ASSERT_FALSE(zip);
  EXPECT_THAT(zip.error().message, HasSubstr("zip"));
}

TEST(Cases, M6_KeysInAnyOrder) {
  const auto trace = read_case(
      R"({"schemaVersion": 1, "traceEvents": [{"args": {"correlation": 5, "stream": 7}, "dur": 2, "ts": 1, "tid": 7,
      "pid": 0, "name": "k", "cat": "kernel", "ph": "X"}], "deviceProperties": [{"id": 0, "name": "A", "numSms": 108}], "trace_id": "T"})");
  EXPECT_EQ(trace.kind[0], EventKind::kernel);
  EXPECT_EQ(trace.correlation[0], 5u);
  EXPECT_EQ(trace.device(0)->multiprocessors, 108);
  EXPECT_EQ(trace.metadata.at("trace_id"), "T");
}

TEST(Cases, M7_TypesVary) {
  const auto trace =
      read_case(object({event("Trace", "span", "5", "7", "", R"("Spans")", R"("PyTorch Profiler")"),
                        event("overhead", "Activity Buffer Request", "1", "1526", "", "-1", "0")}));
  EXPECT_EQ(trace.tracks[trace.track[0]].tid, "PyTorch Profiler");
  EXPECT_EQ(trace.kind[1], EventKind::overhead);
  EXPECT_EQ(trace.tracks[trace.track[1]].pid, "-1");
}

TEST(Cases, M8_NamesOfCategoriesOverTheYears) {
  const std::pair<const char*, EventKind> names[] = {{"Kernel", EventKind::kernel},
                                                     {"Runtime", EventKind::runtime_call},
                                                     {"Memcpy", EventKind::memcpy},
                                                     {"Operator", EventKind::op},
                                                     {"mtia_ccp_events", EventKind::kernel},
                                                     {"mtia_runtime", EventKind::runtime_call},
                                                     {"xpu_runtime", EventKind::runtime_call},
                                                     {"xpu_driver", EventKind::driver_call},
                                                     {"brand_new", EventKind::other}};
  for (const auto& [name, kind] : names)
    EXPECT_EQ(read_case(object({event(name, "x", "1", "1")})).kind[0], kind) << name;
  const auto old = read_case(object(
      {event("Kernel", "k", "1", "1", R"("external id": 6)"),
       R"({"ph": "f", "cat": "async_cpu_to_gpu", "name": "f", "id": 1, "pid": 0, "tid": 7, "ts": 1})"}));
  EXPECT_EQ(old.external_id[0], 6u);
}

TEST(Cases, M9_EventsThatTookNoMicrosecond) {
  const auto trace = read_case(object({event("Runtime", "cudaLaunchKernel", "1665536373729077", "0")}));
  EXPECT_EQ(trace.start[0], 1665536373729077000);
  EXPECT_EQ(trace.duration[0], 0);
}

}  // namespace
}  // namespace hunch::formats
