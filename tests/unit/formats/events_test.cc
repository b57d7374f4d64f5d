// Sound events of every kind, in small traces of our own making.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using trace::EventKind;

trace::Trace read(const std::string& text) {
  auto trace = read_trace_bytes(text, "test.json");
  EXPECT_TRUE(trace) << base::describe(trace.error());
  return trace ? std::move(*trace) : trace::Trace{};
}

std::string with(const std::string& events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

std::string event(const std::string& category, const std::string& name = "x",
                  const std::string& args = "{}") {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 2, "ts": 10.5, "dur": 3, "args": {}}})",
      category, name, args);
}

TEST(Events, CategoriesOfAllYears) {
  const std::pair<const char*, EventKind> categories[] = {
      {"cpu_op", EventKind::op},
      {"Operator", EventKind::op},
      {"user_annotation", EventKind::annotation},
      {"python_function", EventKind::python_frame},
      {"cuda_runtime", EventKind::runtime_call},
      {"Runtime", EventKind::runtime_call},
      {"xpu_runtime", EventKind::runtime_call},
      {"mtia_runtime", EventKind::runtime_call},
      {"hip_runtime", EventKind::runtime_call},
      {"cuda_driver", EventKind::driver_call},
      {"xpu_driver", EventKind::driver_call},
      {"kernel", EventKind::kernel},
      {"Kernel", EventKind::kernel},
      {"mtia_ccp_events", EventKind::kernel},
      {"gpu_memcpy", EventKind::memcpy},
      {"Memcpy", EventKind::memcpy},
      {"gpu_memset", EventKind::memset},
      {"Memset", EventKind::memset},
      {"cuda_sync", EventKind::sync},
      {"gpu_user_annotation", EventKind::device_annotation},
      {"overhead", EventKind::overhead},
      {"Trace", EventKind::other},
      {"", EventKind::other},
      {"a category far longer than any that we know of", EventKind::other},
  };
  for (const auto& [category, kind] : categories) {
    const auto trace = read(with(event(category)));
    ASSERT_EQ(trace.size(), 1u) << category;
    EXPECT_EQ(trace.kind[0], kind) << category;
  }
}

TEST(Events, StepsAreAnnotationsOfTheProfiler) {
  const auto trace = read(
      with(event("user_annotation", "ProfilerStep#12") + "," + event("user_annotation", "ProfilerStep#") +
           "," + event("cpu_op", "ProfilerStep#0") + "," + event("gpu_user_annotation", "ProfilerStep#12")));
  EXPECT_THAT(trace.kind, ElementsAre(EventKind::step, EventKind::annotation, EventKind::step,
                                      EventKind::device_annotation));
}

TEST(Events, KeysInAnyOrderAndWithoutSpaces) {
  const auto trace = read(
      R"({"traceEvents":[{"args":{"correlation":7,"device":1,"stream":9},"dur":2.25,"tid":9,"ts":1.5,"pid":1,"name":"k","cat":"kernel","ph":"X"}]})");
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.start[0], 1500);
  EXPECT_EQ(trace.duration[0], 2250);
  EXPECT_EQ(trace.name_of(0), "k");
  EXPECT_EQ(trace.correlation[0], 7u);
  ASSERT_NE(trace.device_detail(0), nullptr);
  EXPECT_EQ(trace.device_detail(0)->device, 1);
  EXPECT_EQ(trace.device_detail(0)->stream, 9);
  EXPECT_EQ(trace.tracks[trace.track[0]].tid, "9");
}

TEST(Events, KernelArgs) {
  const auto trace = read(with(
      event("kernel", "k", R"({"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 538860,
    "External id": 12, "registers per thread": 168, "shared memory": 134144, "blocks per SM": 0.8, "warps per SM": 3.2,
    "grid": [64, 2, 1], "block": [128, 1, 1], "est. achieved occupancy %": 5, "graph id": 3, "graph node id": 4})")));
  const auto* detail = trace.device_detail(0);
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(trace.correlation[0], 538860u);
  EXPECT_EQ(trace.external_id[0], 12u);
  EXPECT_EQ(detail->registers, 168);
  EXPECT_EQ(detail->shared_bytes, 134144);
  EXPECT_FLOAT_EQ(detail->blocks_per_sm, 0.8f);
  EXPECT_FLOAT_EQ(detail->warps_per_sm, 3.2f);
  EXPECT_THAT(detail->grid, ElementsAre(64, 2, 1));
  EXPECT_THAT(detail->block, ElementsAre(128, 1, 1));
  EXPECT_EQ(detail->reported_occupancy_pct, 5);
  EXPECT_EQ(detail->graph_id, 3);
  EXPECT_EQ(detail->graph_node_id, 4);
  EXPECT_EQ(detail->bytes, -1);
}

TEST(Events, OldSpellingOfExternalIdAndBytesOfCopies) {
  const auto trace = read(with(
      event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", R"({"external id": 5, "bytes": 268435456})")));
  EXPECT_EQ(trace.external_id[0], 5u);
  EXPECT_EQ(trace.device_detail(0)->bytes, 268435456);
}

TEST(Events, MissingNegativeAndNullArgsAreNotSaid) {
  const auto trace = read(with(
      event("kernel", "bare") + "," +
      event(
          "kernel", "negative",
          R"({"blocks per SM": -1.0, "warps per SM": -1, "est. achieved occupancy %": -1, "registers per thread": -1,
            "correlation": -1, "External id": -1, "stream": null})")));
  EXPECT_EQ(trace.device_detail(0), nullptr);
  EXPECT_EQ(trace.device_detail(1), nullptr);
  EXPECT_EQ(trace.correlation[1], 0u);
  EXPECT_EQ(trace.external_id[1], 0u);
  EXPECT_THAT(trace.stats.repaired, IsEmpty());
}

TEST(Events, ArgsOfAWrongTypeAreIgnoredAndCounted) {
  const auto trace = read(
      with(event("kernel", "k", R"({"stream": "compute", "device": true, "grid": [1, 2], "block": "[1, 1, 1]",
    "correlation": {"a": 1}, "registers per thread": 1e30, "shared memory": 64, "flag": True})") +
           "," + event("cpu_op", "o", R"("text")") + "," +
           event("cpu_op", "o", R"({"Input Dims": 5, "Sequence number": 1.5})")));
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace.device_detail(0)->shared_bytes, 64);
  EXPECT_EQ(trace.device_detail(0)->stream, -1);
  EXPECT_THAT(trace.device_detail(0)->grid, ElementsAre(0, 0, 0));
  EXPECT_THAT(trace.stats.repaired, ElementsAre(Pair("argument of a wrong type, ignored", 9)));
  EXPECT_EQ(trace.stats.skipped, 0u);
}

TEST(Events, UnsignedNumbersAboveInt64) {
  const auto trace = read(with(
      event("kernel", "nccl", R"({"Comms Id": 18446744073709551615, "correlation": 18446744073709551615})")));
  EXPECT_EQ(trace.correlation[0], UINT64_MAX);
  EXPECT_THAT(trace.stats.repaired, IsEmpty());
}

TEST(Events, OpArgs) {
  const auto trace =
      read(with(event("cpu_op", "aten::bmm", R"({"External id": 14, "Sequence number": 5, "Fwd thread id": 0,
    "Input Dims": [[8, 16], []], "Input type": ["c10::BFloat16", "Scalar"], "Concrete Inputs": ["", "[{]"]})") +
                "," + event("cpu_op", "plain", R"({"External id": 15})")));
  const auto* detail = trace.op_detail(0);
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(trace.strings.view(detail->input_dims), "[[8,16],[]]");
  EXPECT_EQ(trace.strings.view(detail->input_types), R"(["c10::BFloat16","Scalar"])");
  EXPECT_EQ(detail->sequence_number, 5);
  EXPECT_EQ(detail->forward_thread, 0);
  EXPECT_EQ(trace.external_id[0], 14u);
  EXPECT_EQ(trace.op_detail(1), nullptr);
}

TEST(Events, ValuesAndStridesAreKeptOfAttentionAlone) {
  const char* args = R"({"Concrete Inputs": ["", "0.", "True"], "Input Strides": [[64, 1], []]})";
  const auto trace = read(with(event("cpu_op", "aten::scaled_dot_product_attention", args) + "," +
                               event("cpu_op", "aten::bmm", args)));
  ASSERT_NE(trace.op_detail(0), nullptr);
  EXPECT_EQ(trace.strings.view(trace.op_detail(0)->input_values), R"(["","0.","True"])");
  EXPECT_EQ(trace.strings.view(trace.op_detail(0)->input_strides), "[[64,1],[]]");
  EXPECT_EQ(trace.op_detail(1), nullptr);
}

TEST(Events, AQuotedListOfDimsIsItsText) {
  const auto trace = read(with(event("cpu_op", "o", R"({"Input Dims": "[[8, 16]]"})")));
  ASSERT_NE(trace.op_detail(0), nullptr);
  EXPECT_EQ(trace.strings.view(trace.op_detail(0)->input_dims), "[[8, 16]]");
}

TEST(Events, PythonFrames) {
  const auto trace =
      read(with(event("python_function", "m.py(1): f",
                      R"({"Python id": 3, "Python parent id": 2, "Python module id": 0})") +
                "," + event("python_function", "root", R"({"Python id": 1, "Python parent id": null})")));
  EXPECT_EQ(trace.op_detail(0)->python_id, 3);
  EXPECT_EQ(trace.op_detail(0)->python_parent, 2);
  EXPECT_EQ(trace.op_detail(1)->python_parent, -1);
}

TEST(Events, LaunchCallsOfAnyName) {
  const auto trace =
      read(with(event("cuda_driver", "cuLaunchKernelNew", R"({"correlation": 9, "External id": 4})")));
  EXPECT_EQ(trace.kind[0], EventKind::driver_call);
  EXPECT_EQ(trace.correlation[0], 9u);
  EXPECT_EQ(trace.external_id[0], 4u);
}

TEST(Events, WhatIsNoWorkIsIgnoredByKind) {
  const auto trace = read(with(R"(
    {"ph": "s", "id": 9007199254740993, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 1, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "C", "pid": "GPU 0 Counters", "name": "c", "ts": 1, "args": {"": 5}},
    {"ph": "i", "name": "Iteration Start", "ts": 1},
    {"ph": "b", "name": "a", "ts": 1, "id": 1}, {"ph": "N", "name": "o", "ts": 1}, {"ph": "P", "ts": 1}, {"ph": "R", "ts": 1},
    {"ph": "M", "name": "process_sort_index", "pid": 1, "tid": 0, "args": {"sort_index": 5}})"));
  EXPECT_EQ(trace.size(), 0u);
  EXPECT_EQ(trace.stats.events, 9u);
  EXPECT_EQ(trace.stats.skipped, 0u);
  EXPECT_THAT(trace.stats.ignored,
              ElementsAre(Pair("async event", 1), Pair("clock or mark", 1), Pair("counter", 1),
                          Pair("flow arrow", 2), Pair("instant", 1), Pair("object event", 1),
                          Pair("stack sample", 1), Pair("track name or order", 1)));
}

TEST(Events, TracksAreNamedWhereverTheNamesStand) {
  const auto trace =
      read(with(R"({"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7"}},)" +
                event("cpu_op") + R"(,
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "Trace", "name": "t", "pid": "Spans", "tid": "PyTorch \"Profiler\"", "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "n", "pid": 1, "tid": -5, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "n", "ts": 1, "dur": 1},
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "process_labels", "pid": 1, "tid": 0, "args": {"labels": "CPU"}},
    {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}})"));
  ASSERT_EQ(trace.tracks.size(), 5u);  // names alone make no track
  EXPECT_EQ(trace.tracks[0].process, "python");
  EXPECT_EQ(trace.tracks[1].name, "stream 7");
  EXPECT_EQ(trace.tracks[1].process, "GPU 0");
  EXPECT_EQ(trace.tracks[2].pid, "Spans");
  EXPECT_EQ(trace.tracks[2].tid, "PyTorch \"Profiler\"");
  EXPECT_EQ(trace.tracks[3].tid, "-5");
  EXPECT_EQ(trace.tracks[4].pid, "");
}

TEST(Events, BeginAndEndPairByStackAndName) {
  const auto trace = read(with(R"(
    {"ph": "B", "name": "outer", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 1},
    {"ph": "B", "name": "lost", "pid": 1, "tid": 1, "ts": 2},
    {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 3},
    {"ph": "B", "name": "other thread", "pid": 1, "tid": 2, "ts": 3},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 4},
    {"ph": "E", "name": "outer", "pid": 1, "tid": 1, "ts": 7.5},
    {"ph": "E", "name": "never", "pid": 1, "tid": 1, "ts": 8},
    {"ph": "E", "pid": 1, "tid": 2, "ts": 9},
    {"ph": "E", "pid": 1, "tid": 3, "ts": 9})"));
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace.name_of(0), "outer");
  EXPECT_EQ(trace.duration[0], 6500);
  EXPECT_EQ(trace.kind[0], EventKind::annotation);
  EXPECT_EQ(trace.name_of(1), "inner");
  EXPECT_EQ(trace.duration[1], 1000);
  EXPECT_EQ(trace.name_of(2), "other thread");
  EXPECT_EQ(trace.duration[2], 6000);
  EXPECT_EQ(trace.source_index[2], 3u);
  EXPECT_THAT(trace.stats.reasons,
              ElementsAre(Pair("begin without an end", 1), Pair("end without a begin", 2)));
}

std::string memory_event(int type, int delta, int total) {
  return fmt::format(
      R"({{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5,
    "args": {{"Total Reserved": 0, "Total Allocated": {}, "Bytes": {}, "Addr": 1, "Device Id": 0, "Device Type": {}}}}})",
      total, delta, type);
}

TEST(Events, MemoryOfDevicesOnly) {
  const auto trace = read(
      with(memory_event(1, 4096, 8192) + "," + memory_event(0, 64, 64) + "," + memory_event(1, -4096, 4096)));
  ASSERT_EQ(trace.memory.size(), 2u);
  EXPECT_EQ(trace.memory[0].delta_bytes, 4096);
  EXPECT_EQ(trace.memory[0].in_use_bytes, 8192);
  EXPECT_EQ(trace.memory[0].time, 5000);
  EXPECT_EQ(trace.memory[1].delta_bytes, -4096);
  EXPECT_THAT(trace.stats.ignored, ElementsAre(Pair("memory event of the host's CPU", 1)));
}

TEST(Events, MemoryOfTheCpuWhereTheCpuIsTheDevice) {
  const auto trace = read(
      R"({"traceEvents": [)" + memory_event(0, 64, 64) +
      R"(], "deviceProperties": [{"id": 0, "name": "some CPU", "hunchDeviceKind": "cpu"}], "baseTimeNanoseconds": 1000})");
  ASSERT_EQ(trace.devices.size(), 1u);
  EXPECT_TRUE(trace.devices[0].is_cpu);
  ASSERT_EQ(trace.memory.size(), 1u);
  EXPECT_EQ(trace.memory[0].time, 6000);
}

TEST(Events, ANameOfEscapesAndAnEmptyOne) {
  const auto trace = read(with(event("cpu_op", R"(a\"b\u00e9)") + "," + event("cpu_op", "")));
  EXPECT_EQ(trace.name_of(0), "a\"b\xC3\xA9");
  EXPECT_EQ(trace.name_of(1), "");
}

TEST(Events, UnusableEventsAreCountedByReason) {
  const auto trace = read(with(R"(
    {"cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "Q", "name": "x", "ts": 1}, {"ph": "", "name": "x", "ts": 1}, {"ph": "XX", "name": "x", "ts": 1, "dur": 1},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1}, {"ph": "X", "name": 5, "ts": 1, "dur": 1},
    {"ph": "X", "name": "x", "dur": 1}, {"ph": "X", "name": "x", "ts": "soon", "dur": 1}, {"ph": "X", "name": "x", "ts": 1e30, "dur": 1},
    {"ph": "X", "name": "x", "ts": 1}, {"ph": "X", "name": "x", "ts": 1, "dur": -1.-500}, {"ph": "X", "name": "x", "ts": 1, "dur": -0.001},
    {"ph": "X", "name": "x", "ts": 1, "dur": 604800000000.001}, {"ph": "X", "name": "x", "ts": 1, "dur": 7.4e15},
    {"ph": "X", "name": "x", "ts": 1, "dur": 604800000000}, {}, null, 5, [1, {"ph": "X"}], "text")"));
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.stats.events, 20u);
  EXPECT_EQ(trace.stats.skipped, 19u);
  EXPECT_THAT(trace.stats.reasons,
              ElementsAre(Pair("duration is no number or out of range", 1), Pair("duration over 7 days", 2),
                          Pair("event of an unknown phase", 3), Pair("event without a duration", 1),
                          Pair("event without a name", 2), Pair("event without a phase", 2),
                          Pair("event without a time", 1), Pair("negative duration", 1),
                          Pair("not an object", 4), Pair("time is no number or out of range", 2)));
}

TEST(Events, SourceIndexCountsEveryElement) {
  const auto trace = read(with(R"({"ph": "s", "ts": 1}, 7,)" + event("cpu_op") + "," + event("cpu_op")));
  EXPECT_THAT(trace.source_index, ElementsAre(2, 3));
}

}  // namespace
}  // namespace hunch::formats
