// The file around the events: where metadata may stand, the forms of the list, gzip, and what is no trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"
#include "tests/unit/formats/pack.h"

namespace hunch::formats {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kEvent =
    R"({"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 2.5, "dur": 1})";
const std::string kTrace =
    std::string(R"({"traceEvents": [)") + kEvent + "," + kEvent + R"(], "traceName": "t"})";

trace::Trace read(const std::string& bytes, const ReadOptions& options = {}) {
  auto trace = read_trace_bytes(bytes, "test.json", options);
  EXPECT_TRUE(trace) << base::describe(trace.error());
  return trace ? std::move(*trace) : trace::Trace{};
}

base::Error error_of(const std::string& bytes) {
  const auto trace = read_trace_bytes(bytes, "test.json");
  EXPECT_FALSE(trace) << bytes.substr(0, 80);
  return trace ? base::Error{} : trace.error();
}

TEST(Files, BaseTimeAbsentBeforeOrAfterTheEvents) {
  const std::string events = std::string(R"("traceEvents": [)") + kEvent + "]";
  EXPECT_EQ(read("{" + events + "}").start[0], 2500);
  EXPECT_EQ(read(R"({"baseTimeNanoseconds": 1790857026000000000, )" + events + "}").start[0],
            1790857026000002500);
  const auto after =
      read("{" + events + R"(, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000})");
  EXPECT_EQ(after.start[0], 1790857026000002500);
  EXPECT_EQ(after.base_time, 1790857026000000000);
  const auto absurd = read(R"({"baseTimeNanoseconds": 1e40, )" + events + "}");
  EXPECT_EQ(absurd.start[0], 2500);
  EXPECT_EQ(absurd.stats.warnings.size(), 1u);
}

TEST(Files, MetadataOnBothSides) {
  const auto trace = read(
      std::string(
          R"({"schemaVersion": 1, "deviceProperties": [{"id": 3, "name": "A", "warpSize": 64, "numSms": 104,
     "maxSharedMemoryPerMultiProcessor": 65536, "extra": [1, {"a": 2}]}], "metadata": {"deep": {"er": "]}"}}, "with_stack": 1,
     "traceEvents": [)") +
      kEvent +
      R"(], "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 8, "pg_config": [{"a": 1}]},
     "trace_id": "AB\"C", "cuda_driver_version": 13000, "INFO": ["text"]})");
  EXPECT_EQ(trace.metadata.at("distributedInfo.rank"), "2");
  EXPECT_EQ(trace.metadata.at("distributedInfo.backend"), "nccl");
  EXPECT_EQ(trace.metadata.at("trace_id"), "AB\"C");
  EXPECT_EQ(trace.metadata.at("cuda_driver_version"), "13000");
  EXPECT_EQ(trace.metadata.count("INFO"), 0u);
  ASSERT_NE(trace.device(3), nullptr);
  EXPECT_EQ(trace.device(3)->warp_size, 64);
  EXPECT_EQ(trace.device(3)->shared_bytes_per_multiprocessor, 65536);
  EXPECT_EQ(trace.device(0), nullptr);
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
}

TEST(Files, BareArrays) {
  const std::string event = kEvent;
  EXPECT_EQ(read("[" + event + "," + event + "]\n").size(), 2u);
  EXPECT_EQ(read("\xEF\xBB\xBF \n[" + event + ",]").size(), 1u);
  // The closing bracket is optional in this form, behind whole events.
  const auto open = read("[" + event + ",\n" + event + ",\n");
  EXPECT_EQ(open.size(), 2u);
  EXPECT_EQ(open.stats.warnings.size(), 1u);
  EXPECT_THAT(error_of("[" + event + "," + event.substr(0, 40)).message, HasSubstr("cut"));
}

TEST(Files, AnEmptyListOfEventsIsATrace) { EXPECT_EQ(read(R"({"traceEvents": []})").size(), 0u); }

TEST(Files, GzipIsToldByItsBytes) {
  EXPECT_EQ(read(gzip(kTrace)).size(), 2u);
  // Several members in a row are one text; zeros behind them are padding, anything else is garbage.
  EXPECT_EQ(read(gzip(kTrace.substr(0, 50)) + gzip(kTrace.substr(50))).size(), 2u);
  EXPECT_THAT(read(gzip(kTrace) + std::string(512, '\0')).stats.warnings, IsEmpty());
  const auto garbage = read(gzip(kTrace) + "garbage");
  EXPECT_EQ(garbage.size(), 2u);
  ASSERT_EQ(garbage.stats.warnings.size(), 1u);
  EXPECT_THAT(garbage.stats.warnings[0], HasSubstr("7 bytes"));
}

TEST(Files, TheSizeThatGzipClaimsIsAHint) {
  std::string events = kEvent;
  for (int i = 0; i < 2000; ++i) events += std::string(",") + kEvent;
  const std::string packed = gzip(R"({"traceEvents": [)" + events + "]}");
  EXPECT_EQ(read(packed).size(), 2001u);
  // A first member much larger than the last one's size says.
  EXPECT_EQ(read(packed + gzip("   ")).size(), 2001u);
}

TEST(Files, CutOrCorruptGzipIsOneError) {
  const std::string packed = gzip(kTrace);
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const auto error = error_of(packed.substr(0, size));
    EXPECT_EQ(error.code, base::ErrorCode::parse);
    EXPECT_TRUE(error.byte) << size;
    EXPECT_EQ(error.file, "test.json");
    EXPECT_FALSE(error.remedy.empty());
  }
  std::string corrupt = packed;
  corrupt[corrupt.size() / 2] = static_cast<char>(corrupt[corrupt.size() / 2] ^ 0x55);
  EXPECT_THAT(error_of(corrupt).message, HasSubstr("corrupt"));
  std::string second = packed + packed;
  second[second.size() - 6] = static_cast<char>(second[second.size() - 6] ^ 1);
  EXPECT_THAT(error_of(second).message, HasSubstr("corrupt"));
}

TEST(Files, JsonCutAnywhereIsOneErrorWithItsEnd) {
  for (std::size_t size = 1; size < kTrace.find("], \"traceName\""); ++size) {
    const auto error = error_of(kTrace.substr(0, size));
    EXPECT_EQ(error.code, base::ErrorCode::parse) << size;
    EXPECT_EQ(error.byte, size) << error.message;
    EXPECT_THAT(error.message, HasSubstr("cut")) << size;
    EXPECT_FALSE(error.remedy.empty());
  }
}

TEST(Files, SalvageReadsACutFileUpToTheCut) {
  const ReadOptions salvage{.salvage = true, .threads = 0};
  const auto inside = read(kTrace.substr(0, 150), salvage);
  EXPECT_EQ(inside.size(), 1u);
  ASSERT_EQ(inside.stats.warnings.size(), 1u);
  EXPECT_THAT(inside.stats.warnings[0], HasSubstr("byte 150"));
  const auto between =
      read(std::string(R"({"baseTimeNanoseconds": 1000, "traceEvents": [)") + kEvent + ",", salvage);
  EXPECT_EQ(between.size(), 1u);
  EXPECT_EQ(between.start[0], 3500);
}

TEST(Files, WhatIsNoTraceSaysWhatItLooksLike) {
  const std::pair<std::string, const char*> files[] = {
      {"", "empty"},
      {" \n\t ", "white space"},
      {std::string("PK\x03\x04", 4) + "zip", "zip"},
      {"<!DOCTYPE html><html>", "HTML"},
      {"\x28\xB5\x2F\xFD...", "zstd"},
      {"hello, world", "text"},
      {std::string("\x0a\x00\x01", 3), "binary"},
      {"version https://git-lfs.github.com/spec/v1", "LFS"},
      {R"({"a": 1})", "no trace"},
      {"{}", "no trace"},
      {R"({"traceEvents": 5})", "no list"},
      {R"({"traceEvents": {"a": [1]}})", "no list"},
      {"[]", "without one trace event"},
      {"[1, 2, 3]", "without one trace event"},
      {R"([{"a": 1}, {"b": 2}])", "without one trace event"},
      {"{hello}", "not JSON"},
  };
  for (const auto& [bytes, words] : files) {
    const auto error = error_of(bytes);
    EXPECT_THAT(error.message, HasSubstr(words));
    EXPECT_EQ(error.code, base::ErrorCode::parse);
    EXPECT_EQ(error.file, "test.json");
    EXPECT_TRUE(error.byte);
    EXPECT_FALSE(error.remedy.empty()) << error.message;
    EXPECT_THAT(error_of(gzip(bytes)).message, HasSubstr(words));
  }
}

TEST(Files, AReportOfNsightSystemsIsToBeExported) {
  for (const std::string name : {"run.nsys-rep", "run.qdrep"}) {
    const auto report = read_trace_bytes(std::string("\x01\x02report", 8), name);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message, HasSubstr("not exported"));
    EXPECT_THAT(report.error().remedy, HasSubstr("nsys export --type sqlite"));
  }
}

TEST(Files, PathsThatAreNoFiles) {
  const auto missing = read_trace("/nowhere/trace.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, base::ErrorCode::not_found);
  EXPECT_EQ(missing.error().file, "/nowhere/trace.json");
  const auto folder = read_trace(testing::TempDir());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("directory"));
}

TEST(Files, ExtensionsMeanNothing) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "hunch_files_test";
  std::filesystem::create_directories(folder);
  const std::string packed = (folder / "packed.json").string(), plain = (folder / "plain.json.gz").string();
  std::ofstream(packed, std::ios::binary) << gzip(kTrace);
  std::ofstream(plain, std::ios::binary) << kTrace;
  for (const auto& path : {packed, plain}) {
    const auto trace = read_trace(path);
    ASSERT_TRUE(trace) << base::describe(trace.error());
    EXPECT_EQ(trace->size(), 2u);
    EXPECT_EQ(trace->source, path);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hunch::formats
