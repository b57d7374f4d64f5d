// Exports of Nsight Systems, recent and old: every column to its place, and what is missing stays "not said".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"
#include "tests/unit/formats/nsys_file.h"
#include "tests/unit/formats/pack.h"

namespace hunch::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using trace::EventKind;

trace::Trace read(const std::string& bytes, const ReadOptions& options = {}) {
  auto trace = read_trace_bytes(bytes, "run.sqlite", options);
  EXPECT_TRUE(trace) << base::describe(trace.error());
  return trace ? std::move(*trace) : trace::Trace{};
}

trace::EventId find(const trace::Trace& trace, std::string_view name) {
  for (trace::EventId event = 0; event < trace.size(); ++event)
    if (trace.name_of(event) == name) return event;
  ADD_FAILURE() << "no event " << name;
  return 0;
}

TEST(Nsys, ARecentExport) {
  const auto trace = read(SqliteFile(recent_export()).bytes());
  EXPECT_EQ(trace.format, "nsys_sqlite");
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(trace.stats.skipped, 0u);
  ASSERT_EQ(trace.size(), 10u);
  EXPECT_EQ(trace.stats.events, 10u);
  // The capture began at 900 on the clock of the events.
  EXPECT_EQ(trace.base_time, 1790000000000000000);

  const auto range = find(trace, "forward");
  EXPECT_EQ(trace.kind[range], EventKind::annotation);
  EXPECT_EQ(trace.start[range], 1790000000000001000);
  EXPECT_EQ(trace.duration[range], 8000);
  const auto& thread = trace.tracks[trace.track[range]];
  EXPECT_EQ(thread.pid, "4242");
  EXPECT_EQ(thread.tid, "4300");
  EXPECT_EQ(thread.name, "main thread");
  EXPECT_EQ(thread.process, "python3");

  const auto op = find(trace, "aten::mm");
  EXPECT_EQ(trace.kind[op], EventKind::op);
  EXPECT_EQ(trace.external_id[op], 3u);
  ASSERT_NE(trace.op_detail(op), nullptr);
  EXPECT_EQ(trace.op_detail(op)->sequence_number, 12);
  EXPECT_EQ(trace.strings.view(trace.op_detail(op)->input_dims), "[[2,3],[3,4],[]]");

  const auto call = find(trace, "cudaLaunchKernel");
  EXPECT_EQ(trace.kind[call], EventKind::runtime_call);
  EXPECT_EQ(trace.correlation[call], 71u);
  EXPECT_EQ(trace.track[call], trace.track[range]);

  const auto kernel = find(trace, "void flash_fwd_kernel<(int)64>(Params)");
  EXPECT_EQ(trace.kind[kernel], EventKind::kernel);
  EXPECT_EQ(trace.correlation[kernel], 71u);
  const auto* detail = trace.device_detail(kernel);
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(detail->device, 0);
  EXPECT_EQ(detail->stream, 7);
  EXPECT_EQ(detail->registers, 168);
  EXPECT_EQ(detail->shared_bytes, 1024 + 65536);  // static and dynamic
  EXPECT_THAT(detail->grid, ElementsAre(8, 4, 2));
  EXPECT_THAT(detail->block, ElementsAre(128, 2, 1));
  EXPECT_EQ(detail->graph_id, -1);
  EXPECT_EQ(trace.tracks[trace.track[kernel]].pid, "4242");
  EXPECT_EQ(trace.tracks[trace.track[kernel]].process, "GPU 0");
  EXPECT_EQ(trace.tracks[trace.track[kernel]].name, "stream 7");

  const auto copy = find(trace, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(trace.kind[copy], EventKind::memcpy);
  EXPECT_EQ(trace.device_detail(copy)->bytes, 4096);
  EXPECT_EQ(trace.track[copy], trace.track[kernel]);
  const auto memset = find(trace, "Memset (Device)");
  EXPECT_EQ(trace.kind[memset], EventKind::memset);
  EXPECT_EQ(trace.device_detail(memset)->bytes, 512);
  const auto sync = find(trace, "Stream Sync");
  EXPECT_EQ(trace.kind[sync], EventKind::sync);
  EXPECT_NE(trace.track[sync], trace.track[kernel]);  // it lies over kernels

  ASSERT_EQ(trace.devices.size(), 1u);
  const auto& gpu = trace.devices[0];
  EXPECT_EQ(gpu.name, "NVIDIA H100");
  EXPECT_EQ(gpu.compute_major, 9);
  EXPECT_EQ(gpu.multiprocessors, 132);
  EXPECT_EQ(gpu.max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(gpu.max_threads_per_block, 1024);
  EXPECT_EQ(gpu.registers_per_multiprocessor, 65536);
  EXPECT_EQ(gpu.shared_bytes_per_block, 49152);
  EXPECT_EQ(gpu.shared_bytes_per_block_optin, 232448);
  EXPECT_EQ(gpu.shared_bytes_per_multiprocessor, 233472);
  EXPECT_EQ(gpu.memory_bytes, 85899345920);
  EXPECT_EQ(trace.metadata.at("nsys_version"), "2026.2.1.210");
  EXPECT_EQ(trace.metadata.at("nsys_schema"), "3.25.0");
  EXPECT_EQ(trace.metadata.at("rows of NVTX_EVENTS"), "0 to 1");
  EXPECT_EQ(trace.metadata.at("rows of CUPTI_ACTIVITY_KIND_KERNEL"), "6 to 6");
  EXPECT_EQ(trace.source_index[kernel], 6u);
}

TEST(Nsys, AnOldExportHasFewerColumns) {
  const auto trace = read(SqliteFile(old_export()).bytes());
  ASSERT_EQ(trace.size(), 3u);
  EXPECT_EQ(trace.base_time, 0);
  const auto call = find(trace, "cuLaunchKernel");
  EXPECT_EQ(trace.kind[call], EventKind::driver_call);
  const auto kernel = find(trace, "gemm");
  EXPECT_EQ(trace.start[kernel], 300);
  const auto* detail = trace.device_detail(kernel);
  ASSERT_NE(detail, nullptr);
  EXPECT_EQ(detail->registers, -1);
  EXPECT_EQ(detail->shared_bytes, -1);
  EXPECT_THAT(detail->grid, ElementsAre(1, 2, 3));
  EXPECT_THAT(detail->block, ElementsAre(4, 5, 6));
  EXPECT_THAT(trace.devices, IsEmpty());
  EXPECT_EQ(trace.tracks[trace.track[kernel]].pid, "unknown process");
}

TEST(Nsys, TablesAreMadeOnlyForWhatHappened) {
  const auto kernels =
      read(SqliteFile(kStrings + kKernels + string_row(1, "k") + kernel_row(1, 2, 4242, 0, 7, 1, 1)).bytes());
  EXPECT_EQ(kernels.size(), 1u);
  const auto ranges = read(SqliteFile(kRanges + range_row(1, 2, 4242, 4242, "'forward'")).bytes());
  EXPECT_EQ(ranges.size(), 1u);
  const auto nothing = read(SqliteFile("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)").bytes());
  EXPECT_EQ(nothing.size(), 0u);
  EXPECT_THAT(nothing.stats.warnings, ElementsAre(HasSubstr("--trace=cuda,nvtx")));
}

TEST(Nsys, TwoProcessesWithTheSameIdsStayApart) {
  // The same thread number, correlation, device and stream in both; and a machine that numbers its process
  // alike.
  SqliteFile file(kStrings + kKernels + kCalls + string_row(1, "k") +
                  string_row(2, "cudaLaunchKernel_v7000"));
  for (const int64_t pid : {100, 200})
    file.run(call_row(10, 20, pid, 100, 5, 2) + kernel_row(30, 40, pid, 0, 7, 5, 1));
  file.run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, {}, 5, 2, 0, NULL);",
                       (int64_t{2} << 48) | (int64_t{100} << 24) | 100));
  const auto trace = read(file.bytes());
  ASSERT_EQ(trace.size(), 5u);
  const auto pid = [&](trace::EventId event) { return trace.tracks[trace.track[event]].pid; };
  EXPECT_EQ(pid(0), "100");
  EXPECT_EQ(pid(1), "200");
  EXPECT_EQ(pid(2), "100 (2)");
  EXPECT_EQ(pid(3), "100");  // the kernels, by process
  EXPECT_EQ(pid(4), "200");
  EXPECT_NE(trace.track[3], trace.track[4]);
}

TEST(Nsys, ASmallProcessIdIsNoDevice) {
  const auto trace = read(SqliteFile(kStrings + kKernels + kernel_row(30, 40, 1, 1, 7, 5, 1)).bytes());
  EXPECT_EQ(trace.tracks[trace.track[0]].pid, "process 1");
}

TEST(Nsys, DeviceNumbersOfProcessesAreThoseOfTheMachine) {
  // Each process sees one GPU, as its device 0.
  SqliteFile file(
      kStrings + kKernels + string_row(1, "k") + kernel_row(1, 2, 100, 0, 7, 1, 1) +
      kernel_row(1, 2, 200, 0, 7, 1, 1) +
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, "
      "uuid TEXT, numMultiprocessors INTEGER); INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5, 0, 100, 'a', "
      "132), (3, 0, 200, 'b', 132);");
  const auto trace = read(file.bytes());
  EXPECT_EQ(trace.device_detail(0)->device, 5);
  EXPECT_EQ(trace.device_detail(1)->device, 3);
}

TEST(Nsys, NvtxRangesOfAllKinds) {
  SqliteFile file(kStrings + kRanges + string_row(7, "registered") + string_row(9, "NCCL"));
  file.run(
      range_row(10, 90, 100, 100, "NULL", "7", 59) + range_row(20, 30, 100, 100, "'started'", "NULL", 60) +
      range_row(25, 25, 100, 100, "'mark'", "NULL", 34) + range_row(30, -1, 100, 100, "'open'") +
      range_row(35, 40, 100, 100, "NULL") + range_row(40, 45, 100, 100, "'ncclAllReduce'", "NULL", 59, 3) +
      range_row(50, 55, 100, 100, "'mine'", "NULL", 59, 4) + range_row(60, 60, 100, 100, "NULL", "9", 75, 3) +
      range_row(60, 60, 100, 100, "'my domain'", "NULL", 75, 4) +
      range_row(70, 70, 100, 100, "'x'", "NULL", 12));
  const auto trace = read(file.bytes());
  ASSERT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace.name_of(0), "registered");
  EXPECT_EQ(trace.name_of(1), "started");
  EXPECT_EQ(trace.kind[1], EventKind::annotation);
  EXPECT_EQ(trace.name_of(2), "ncclAllReduce");
  EXPECT_EQ(trace.kind[2], EventKind::op);  // a call of a library, not a forward
  EXPECT_EQ(trace.kind[3], EventKind::annotation);
  EXPECT_THAT(trace.stats.reasons,
              ElementsAre(Pair("event without a name", 1), Pair("event without an end", 1)));
  EXPECT_THAT(trace.stats.ignored, ElementsAre(Pair("NVTX event of another kind", 1), Pair("NVTX mark", 1),
                                               Pair("NVTX name of a domain, category or thread", 2)));
  EXPECT_EQ(trace.stats.events, 10u);
}

TEST(Nsys, GraphsAsAWholeAreSaidToBeSo) {
  SqliteFile file(kGraphs +
                  fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10, 90, 0, 1, 7, 5, {}, "
                              "109, 110), (100, 190, 0, 1, 7, 6, {}, 109, 110);",
                              global_id(100), global_id(100)));
  const auto trace = read(file.bytes());
  ASSERT_EQ(trace.size(), 2u);
  EXPECT_EQ(trace.name_of(0), "CUDA graph 109, whole");
  EXPECT_EQ(trace.kind[0], EventKind::kernel);
  EXPECT_EQ(trace.device_detail(0)->graph_id, 109);
  EXPECT_THAT(trace.stats.warnings, ElementsAre(HasSubstr("2 CUDA graph launches were recorded as a whole")));
}

TEST(Nsys, GraphNodesKeepTheirIds) {
  SqliteFile file(kStrings + kKernels + string_row(1, "k"));
  file.run(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 1, NULL, 7, 5, {}, 1, 1, NULL, 1, 8, 1, "
      "1, 1, 1, 1, 1, 0, 0, 8589934596, 2);",
      global_id(100)));
  const auto trace = read(file.bytes());
  EXPECT_EQ(trace.device_detail(0)->graph_node_id, 8589934596);
  EXPECT_EQ(trace.device_detail(0)->graph_id, 2);
}

TEST(Nsys, UnusableRowsAreCountedByReason) {
  SqliteFile file(kStrings + kCalls + string_row(1, "cudaLaunchKernel_v7000"));
  file.run(call_row(10, 5, 100, 100, 1, 1) +
           call_row(0, int64_t{9} * 24 * 3600 * 1'000'000'000, 100, 100, 2, 1) +
           call_row(INT64_MAX, INT64_MAX, 100, 100, 3, 1) + call_row(10, 20, 100, 100, -7, 99) +
           "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('soon', 5, 0, 1, 1, 1, 0, NULL);");
  const auto trace = read(file.bytes());
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.name_of(0), "unnamed call");
  EXPECT_EQ(trace.correlation[0], 0u);
  EXPECT_THAT(trace.stats.repaired, ElementsAre(Pair("name that the file lacks, replaced", 1)));
  EXPECT_THAT(trace.stats.reasons,
              ElementsAre(Pair("duration over 7 days", 1), Pair("event without a time", 1),
                          Pair("negative duration", 1), Pair("time is no number or out of range", 1)));
}

TEST(Nsys, StringsWithoutAKeyAreFoundAllTheSame) {
  SqliteFile file("CREATE TABLE StringIds (id INTEGER, value TEXT);" + kKernels + string_row(41, "late") +
                  kernel_row(1, 2, 100, 0, 7, 5, 41));
  EXPECT_EQ(read(file.bytes()).name_of(0), "late");
}

TEST(Nsys, NormalisedTimesAreAbsoluteAlready) {
  SqliteFile file(recent_export() +
                  "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true');");
  const auto trace = read(file.bytes());
  EXPECT_EQ(trace.base_time, 0);
  EXPECT_EQ(trace.start[0], 1000);
}

TEST(Nsys, PackedWithGzip) { EXPECT_EQ(read(gzip(SqliteFile(recent_export()).bytes())).size(), 10u); }

TEST(Nsys, WriteAheadLogModeIsReadAndSaid) {
  std::string bytes = SqliteFile(recent_export()).bytes();
  bytes[18] = bytes[19] = 2;
  const auto trace = read(bytes);
  EXPECT_EQ(trace.size(), 10u);
  EXPECT_THAT(trace.stats.warnings, ElementsAre(HasSubstr("-wal")));
}

}  // namespace
}  // namespace hunch::formats
