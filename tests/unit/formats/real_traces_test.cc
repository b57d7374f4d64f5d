// Every real trace is read to the last event: counts by kind and sums of all columns against numbers that a
// script of its own made from the JSON (real_traces_table.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"
#include "tests/unit/formats/real_traces_table.h"

namespace hunch::formats {
namespace {

constexpr std::array kKinds = {trace::EventKind::op,
                               trace::EventKind::annotation,
                               trace::EventKind::step,
                               trace::EventKind::python_frame,
                               trace::EventKind::runtime_call,
                               trace::EventKind::driver_call,
                               trace::EventKind::kernel,
                               trace::EventKind::memcpy,
                               trace::EventKind::memset,
                               trace::EventKind::sync,
                               trace::EventKind::device_annotation,
                               trace::EventKind::overhead,
                               trace::EventKind::other};

void expect_read(const std::string& folder, const ExpectedTrace& expected) {
  SCOPED_TRACE(expected.file);
  const auto trace = read_trace(folder + "/" + expected.file);
  ASSERT_TRUE(trace) << base::describe(trace.error());
  EXPECT_EQ(trace->format, "chrome_json");
  EXPECT_EQ(trace->stats.events, expected.events);
  EXPECT_EQ(trace->stats.skipped, 0u);
  EXPECT_THAT(trace->stats.reasons, testing::IsEmpty());
  EXPECT_THAT(trace->stats.repaired, testing::IsEmpty());
  EXPECT_THAT(trace->stats.warnings, testing::IsEmpty());
  uint64_t ignored = 0;
  for (const auto& [kind, count] : trace->stats.ignored) ignored += count;
  EXPECT_EQ(trace->size() + trace->memory.size() + ignored, expected.events);
  EXPECT_EQ(trace->memory.size(), expected.memory_events);

  std::array<uint64_t, kKinds.size()> by_kind{};
  uint64_t start_sum = 0, correlations = 0, externals = 0, grids = 0;
  int64_t durations = 0, registers = 0;
  for (trace::EventId event = 0; event < trace->size(); ++event) {
    for (std::size_t k = 0; k < kKinds.size(); ++k) by_kind[k] += trace->kind[event] == kKinds[k];
    start_sum += static_cast<uint64_t>(trace->start[event]);
    durations += trace->duration[event];
    correlations += trace->correlation[event];
    externals += trace->external_id[event];
    if (const auto* device = trace->device_detail(event)) {
      for (const uint32_t size : device->grid) grids += size;
      if (device->registers > 0) registers += device->registers;
    }
    if (event > 0) {
      EXPECT_LT(trace->source_index[event - 1], trace->source_index[event]);
    }
  }
  EXPECT_EQ(by_kind, expected.by_kind);
  EXPECT_EQ(start_sum, expected.start_sum);
  EXPECT_EQ(durations, expected.duration_sum);
  EXPECT_EQ(correlations, expected.correlation_sum);
  EXPECT_EQ(externals, expected.external_sum);
  EXPECT_EQ(grids, expected.grid_sum);
  EXPECT_EQ(registers, expected.register_sum);
}

TEST(RealTraces, OwnTracesAreReadToTheLastEvent) {
  for (const auto& expected : kOwnTraces) expect_read(HUNCH_TEST_DATA "/traces", expected);
}

TEST(RealTraces, EveryTraceOfTheFolderIsInTheTable) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HUNCH_TEST_DATA "/traces"))
    files += entry.path().extension() == ".gz";
  EXPECT_EQ(files, std::size(kOwnTraces));
}

TEST(RealTraces, PublicTracesAreReadToTheLastEvent) {
  const char* folder = std::getenv("HUNCH_PUBLIC_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "HUNCH_PUBLIC_TRACES is not set: no folder of public traces to read";
  for (const auto& expected : kPublicTraces) expect_read(folder, expected);
}

// Against sums that SQL of its own made from the tables.
TEST(RealTraces, APublicExportOfNsightSystemsIsReadToTheLastRow) {
  const char* folder = std::getenv("HUNCH_PUBLIC_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "HUNCH_PUBLIC_TRACES is not set: no folder of public traces to read";
  const auto trace = read_trace(std::string(folder) + "/h100_2gpu_1s.sqlite");
  ASSERT_TRUE(trace) << base::describe(trace.error());
  EXPECT_EQ(trace->format, "nsys_sqlite");
  EXPECT_EQ(trace->size(), 3442u + 904 + 22 + 5796 + 244 + 198 + 16782);
  EXPECT_EQ(trace->stats.events, trace->size());
  EXPECT_THAT(trace->stats.warnings, testing::IsEmpty());
  EXPECT_THAT(trace->stats.repaired, testing::IsEmpty());
  std::map<trace::EventKind, std::pair<int, base::Ns>> seen;
  uint64_t kernel_correlations = 0, call_correlations = 0, grids = 0;
  int64_t registers = 0, shared = 0, copied = 0, set = 0;
  for (trace::EventId event = 0; event < trace->size(); ++event) {
    auto& [count, duration] = seen[trace->kind[event]];
    ++count;
    duration += trace->duration[event];
    if (trace->kind[event] == trace::EventKind::runtime_call) call_correlations += trace->correlation[event];
    const auto* detail = trace->device_detail(event);
    if (detail == nullptr) continue;
    if (trace->kind[event] == trace::EventKind::memcpy) copied += detail->bytes;
    if (trace->kind[event] == trace::EventKind::memset) set += detail->bytes;
    if (trace->kind[event] != trace::EventKind::kernel) continue;
    kernel_correlations += trace->correlation[event];
    for (const uint32_t size : detail->grid) grids += size;
    registers += detail->registers;
    shared += detail->shared_bytes;
  }
  using Seen = std::pair<int, base::Ns>;
  EXPECT_EQ(seen[trace::EventKind::kernel], Seen(3442, 44829522));
  EXPECT_EQ(seen[trace::EventKind::memcpy], Seen(904, 1880842214));
  EXPECT_EQ(seen[trace::EventKind::memset], Seen(22, 29216));
  EXPECT_EQ(seen[trace::EventKind::runtime_call], Seen(5796, 1799142046));
  EXPECT_EQ(seen[trace::EventKind::sync], Seen(244, 857291122));
  EXPECT_EQ(seen[trace::EventKind::overhead], Seen(198, 911969806));
  EXPECT_EQ(seen[trace::EventKind::op], Seen(16782, 4642216888));  // emit_nvtx's, all with an op_id
  EXPECT_EQ(kernel_correlations, 5065018719u);
  EXPECT_EQ(call_correlations, 8610253502u);
  EXPECT_EQ(grids, 955814u);
  EXPECT_EQ(registers, 221646);
  EXPECT_EQ(shared, 18428736);
  EXPECT_EQ(copied, 110318980178);
  EXPECT_EQ(set, 17672);
}

TEST(RealTraces, DevicesTracksAndDetails) {
  const auto trace = read_trace(HUNCH_TEST_DATA "/traces/naive.json.gz");
  ASSERT_TRUE(trace) << base::describe(trace.error());
  EXPECT_EQ(trace->base_time, 1790857026000000000);
  EXPECT_EQ(trace->start[0], 1790857026000000000 + 5204627728102090);
  EXPECT_EQ(trace->duration[0], 452807);
  ASSERT_EQ(trace->devices.size(), 1u);
  const auto& device = trace->devices[0];
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.compute_major, 9);
  EXPECT_EQ(device.multiprocessors, 132);
  EXPECT_EQ(device.max_threads_per_multiprocessor, 2048);
  EXPECT_EQ(device.registers_per_multiprocessor, 65536);
  EXPECT_EQ(device.shared_bytes_per_block, 49152);
  EXPECT_EQ(device.shared_bytes_per_block_optin, 232448);
  EXPECT_EQ(device.shared_bytes_per_multiprocessor, 233472);
  EXPECT_EQ(device.memory_bytes, 150109880320);
  EXPECT_FALSE(device.is_cpu);
  EXPECT_EQ(trace->metadata.at("cupti_version"), "130001");
  EXPECT_EQ(trace->metadata.at("traceName"), "naive.json");
  EXPECT_EQ(trace->tracks[trace->track[0]].pid, "435");
  EXPECT_EQ(trace->tracks[trace->track[0]].name, "thread 435 (python3)");
}

}  // namespace
}  // namespace hunch::formats
