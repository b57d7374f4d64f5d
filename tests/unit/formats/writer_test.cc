// Writing: what real traces say survives a round trip, hostile texts and numbers still give valid JSON, and a
// file is written whole or not at all.
#include "hunch/formats/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "hunch/formats/reader.h"
#include "hunch/trace/builder.h"
#include "tests/unit/formats/same_trace.h"

namespace hunch::formats {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using trace::EventKind;
using trace::Trace;
using trace::TraceBuilder;

bool is_json(const std::string& text) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  return parser.parse(padded).error() == simdjson::SUCCESS;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One host event and the device work it launched.
Trace small_trace() {
  TraceBuilder builder;
  builder.trace().source = "small";
  trace::Event call;
  call.kind = EventKind::runtime_call;
  call.name = "hunchLaunchKernel";
  call.track = builder.track("12", "34");
  call.start = 1'000'000;
  call.duration = 500;
  call.correlation = 9;
  builder.add(call);
  trace::DeviceDetail detail;
  detail.device = 0;
  detail.stream = 7;
  detail.grid = {2, 3, 4};
  trace::Event work = call;
  work.kind = EventKind::kernel;
  work.name = "a_kernel";
  work.track = builder.track("0", "7");
  work.start = 1'002'003;
  work.duration = 1;
  work.device = &detail;
  builder.add(work);
  return builder.finish();
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hunch-writer-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};
using WriteFile = Folder;

std::vector<std::string> real_traces() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(HUNCH_TEST_DATA "/traces"))
    if (entry.path().extension() == ".gz") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class RealTrace : public testing::TestWithParam<std::string> {};

TEST_P(RealTrace, SurvivesARoundTrip) {
  const auto first = read_trace(HUNCH_TEST_DATA "/traces/" + GetParam());
  ASSERT_TRUE(first) << describe(first.error());
  ASSERT_GT(first->size(), 0u);
  const std::string text = chrome_json_text(*first);
  EXPECT_TRUE(is_json(text));
  const auto second = read_trace_bytes(text, "written");
  ASSERT_TRUE(second) << describe(second.error());
  expect_same_trace(*first, *second, false);
  for (trace::EventId row = 0; row < second->size(); ++row) ASSERT_EQ(second->source_index[row], row);
  EXPECT_EQ(second->stats.skipped, 0u);
  EXPECT_EQ(chrome_json_text(*second), text) << "from here on nothing changes";
}

INSTANTIATE_TEST_SUITE_P(All, RealTrace, testing::ValuesIn(real_traces()), [](const auto& one) {
  std::string name = one.param.substr(0, one.param.find('.'));
  return name;
});

TEST(Writer, HasTheFieldsOfPyTorchsProfiler) {
  Trace trace = small_trace();
  trace.base_time = 1'000'000;
  trace.memory.push_back({1'000'500, 0, -64, 128, 0});
  const std::string text = chrome_json_text(trace);
  for (
      const char* part : {
          "\"schemaVersion\": 1",
          "\"baseTimeNanoseconds\": 1000000",
          "\"displayTimeUnit\": \"ms\"",
          R"("ph": "X", "cat": "cuda_runtime", "name": "hunchLaunchKernel", "pid": 12, "tid": 34, "ts": 0.000, "dur": 0.500)",
          R"("cat": "kernel", "name": "a_kernel", "pid": 0, "tid": 7, "ts": 2.003, "dur": 0.001)",
          R"("device": 0, "stream": 7, "grid": [2, 3, 4])",
          R"({"ph": "s", "id": 9, "pid": 12, "tid": 34, "ts": 0.000, "cat": "ac2g", "name": "ac2g"})",
          R"({"ph": "f", "id": 9, "pid": 0, "tid": 7, "ts": 2.003, "cat": "ac2g", "name": "ac2g", "bp": "e"})",
          R"("ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 12, "tid": 34, "ts": 0.500)",
          R"({"Total Allocated": 128, "Bytes": -64, "Device Id": 0, "Device Type": 1})",
          "\"traceName\": \"small\"",
      })
    EXPECT_THAT(text, HasSubstr(part));
  for (const char* unknown : {"occupancy", "registers", "block", "External id"})
    EXPECT_THAT(text, Not(HasSubstr(unknown))) << "what is not known is not written";
}

TEST(Writer, AnEmptyTraceIsValid) {
  const std::string text = chrome_json_text(Trace{});
  EXPECT_TRUE(is_json(text)) << text;
  const auto again = read_trace_bytes(text, "empty");
  ASSERT_TRUE(again) << describe(again.error());
  EXPECT_EQ(again->size(), 0u);
}

// Each byte value alone, in pairs with a quote, and cut UTF-8, everywhere a text can stand.
TEST(Writer, HostileTextsGiveValidJson) {
  std::vector<std::string> texts = {"",
                                    "\"",
                                    "\\",
                                    "\\u12",
                                    "a\"b\\c\n\t\r\b\f",
                                    "\xC3\x28",
                                    "\xE2\x82",
                                    "\xF0\x9F\x98",
                                    "\xED\xA0\x80",
                                    "\xC0\x80",
                                    "\xF4\x90\x80\x80",
                                    "\xE2\x82\xAC \xF0\x9F\x98\x80",
                                    "]}",
                                    "\x7F",
                                    std::string("a\0b", 3)};
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(std::string(1, static_cast<char>(byte)));
    texts.push_back(std::string("x") + static_cast<char>(byte) + "\"y");
  }
  TraceBuilder builder;
  std::vector<trace::OpDetail> details(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    details[i].input_dims = builder.intern(texts[i]);
    details[i].input_types = builder.intern("[" + texts[i] + "]");
    trace::Event event;
    event.kind = EventKind::op;
    event.name = texts[i];
    event.track = builder.track(texts[i], texts[texts.size() - 1 - i]);
    event.op = &details[i];
    builder.name_track(event.track, texts[i]);
    builder.trace().tracks[event.track].process = texts[i];
    builder.trace().metadata[texts[i]] = texts[i];
    builder.trace().metadata["distributedInfo." + texts[i]] = texts[i];
    builder.trace().devices.push_back({});
    builder.trace().devices.back().name = texts[i];
    builder.add(event);
  }
  builder.trace().source = texts[5];
  const Trace trace = builder.finish();
  const std::string text = chrome_json_text(trace);
  EXPECT_TRUE(is_json(text));
  const auto again = read_trace_bytes(text, "hostile");
  ASSERT_TRUE(again) << describe(again.error());
  ASSERT_EQ(again->size(), trace.size());
  // What is no list went in as a string, which a reader of lists passes over; nothing else needed a repair.
  for (const auto& [what, count] : again->stats.repaired) EXPECT_THAT(what, HasSubstr("type")) << count;
  for (trace::EventId row = 0; row < trace.size(); ++row) {
    const std::string name(trace.name_of(row));
    const simdjson::padded_string padded(name);
    if (simdjson::validate_utf8(padded))
      EXPECT_EQ(again->name_of(row), name);
    else
      EXPECT_THAT(std::string(again->name_of(row)), HasSubstr("\xEF\xBF\xBD"));
  }
}

TEST(Writer, ExtremeNumbersGiveValidJson) {
  TraceBuilder builder;
  for (const trace::Ns start :
       {trace::Ns{0}, trace::Ns{-1}, trace::Ns{-1500}, trace::Ns{999}, INT64_MIN, INT64_MAX}) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              1e-40F, 3e38F, 0.1F, -1.0F}) {
      trace::DeviceDetail detail;
      detail.reported_occupancy_pct = detail.blocks_per_sm = detail.warps_per_sm = value;
      detail.bytes = INT64_MAX;
      trace::Event event;
      event.kind = EventKind::memcpy;
      event.name = "x";
      event.track = builder.track("-5", "007");
      event.start = start;
      event.duration = 1;
      event.correlation = event.external_id = UINT64_MAX;
      event.device = &detail;
      builder.add(event);
    }
  }
  builder.trace().base_time = 77;
  const std::string text = chrome_json_text(builder.finish());
  EXPECT_TRUE(is_json(text));
  EXPECT_THAT(text, HasSubstr("\"pid\": -5, \"tid\": \"007\""));
  EXPECT_THAT(text, HasSubstr("\"ts\": -0.078,"));
  EXPECT_THAT(text, HasSubstr("\"ts\": -1.577,"));
  EXPECT_THAT(text, HasSubstr("\"ts\": 0.922,"));
  EXPECT_THAT(text, HasSubstr("18446744073709551615"));
}

TEST(Writer, ArrowsStartAtTheRuntimeCallAndOnlyWhereBothEndsAreKnown) {
  Trace trace = small_trace();
  trace.kind[0] = EventKind::driver_call;
  const auto add = [&trace](trace::EventId like, EventKind kind, uint64_t correlation) {
    trace.start.push_back(trace.start[like] + 10'000);
    trace.duration.push_back(5);
    trace.name.push_back(trace.name[like]);
    trace.kind.push_back(kind);
    trace.track.push_back(trace.track[like]);
    trace.correlation.push_back(correlation);
    trace.external_id.push_back(0);
    trace.detail.push_back(trace.detail[like]);
    trace.source_index.push_back(0);
  };
  add(0, EventKind::runtime_call, 9);   // the driver call's twin
  add(1, EventKind::kernel, 9);         // a second kernel of one launch
  add(1, EventKind::kernel, 1234);      // nobody launched this one
  add(0, EventKind::runtime_call, 77);  // and this one launched nothing
  const std::string text = chrome_json_text(trace);
  const auto count = [&text](const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\"ph\": \"s\""), 1u);
  EXPECT_EQ(count("\"ph\": \"f\""), 2u);
  EXPECT_THAT(text, HasSubstr("\"ph\": \"s\", \"id\": 9, \"pid\": 12, \"tid\": 34, \"ts\": 1010.000"));
}

TEST_F(WriteFile, PlainAndGzipByName) {
  const Trace trace = small_trace();
  const fs::path plain = folder_ / "t.json", packed = folder_ / "t.json.gz";
  ASSERT_TRUE(write_chrome_json(trace, plain.string()));
  ASSERT_TRUE(write_chrome_json(trace, packed.string()));
  EXPECT_EQ(bytes_of(plain), chrome_json_text(trace));
  EXPECT_EQ(bytes_of(packed).substr(0, 2), "\x1F\x8B");
  const auto again = read_trace(packed.string());
  ASSERT_TRUE(again) << describe(again.error());
  EXPECT_EQ(again->size(), 2u);
  EXPECT_EQ(entries(), 2u) << "no temporary file stays";
  EXPECT_EQ(std::system(("python3 -m json.tool " + plain.string() + " /dev/null").c_str()), 0);
  EXPECT_EQ(std::system(("gzip -t " + packed.string()).c_str()), 0);
}

TEST_F(WriteFile, ReplacesAFileAndKeepsALink) {
  const fs::path file = folder_ / "t.json", link = folder_ / "link.json";
  std::ofstream(file) << "old";
  fs::create_symlink("t.json", link);
  ASSERT_TRUE(write_chrome_json(small_trace(), link.string()));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(bytes_of(file), chrome_json_text(small_trace()));
  EXPECT_EQ(entries(), 2u);
}

TEST_F(WriteFile, FailuresNameThePathAndLeaveNothing) {
  const fs::path missing = folder_ / "no" / "such" / "t.json";
  const auto no_folder = write_chrome_json(small_trace(), missing.string());
  ASSERT_FALSE(no_folder);
  EXPECT_EQ(no_folder.error().code, base::ErrorCode::io);
  EXPECT_EQ(no_folder.error().file, missing.string());
  EXPECT_THAT(no_folder.error().remedy, HasSubstr("folder"));

  const auto folder = write_chrome_json(small_trace(), folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, base::ErrorCode::io);
  EXPECT_EQ(entries(), 0u);

  const auto file_as_folder = folder_ / "file";
  std::ofstream(file_as_folder) << "x";
  ASSERT_FALSE(write_chrome_json(small_trace(), (file_as_folder / "t.json").string()));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(WriteFile, ADeviceStaysADevice) {
  const auto full = write_chrome_json(small_trace(), "/dev/full");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().file, "/dev/full");
  EXPECT_THAT(full.error().message, HasSubstr("No space"));
  ASSERT_TRUE(write_chrome_json(small_trace(), "/dev/null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace hunch::formats
