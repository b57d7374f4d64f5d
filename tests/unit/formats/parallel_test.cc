// Any number of threads makes the same Trace of a large file, damage and begin/end pairs included.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {
namespace {

// About `megabytes` of events of all kinds; every 50,000th is damaged, and a pair spans a stretch.
std::string large_trace(std::size_t megabytes) {
  std::string text = R"({"baseTimeNanoseconds": 1000, "traceEvents": [)";
  for (int i = 0; text.size() < megabytes << 20; ++i) {
    if (i > 0) text += ",\n";
    if (i % 50000 == 30000) {
      text += R"({"ph": "X", "name": "lost", oops oops})";
    } else if (i == 40000 || i == 41000) {
      text += fmt::format(R"({{"ph": "{}", "name": "pair", "pid": 1, "tid": 1, "ts": {}}})",
                          i == 40000 ? "B" : "E", i);
    } else if (i % 7 == 0) {
      text += fmt::format(
          R"({{"ph": "X", "cat": "kernel", "name": "kernel {}", "pid": 0, "tid": {}, "ts": {}.5, "dur": 2, "args": {{"stream": 7, "correlation": {}, "grid": [{}, 1, 1]}}}})",
          i % 900, i % 5, i, i + 1, i % 60);
    } else if (i % 7 == 1) {
      text += fmt::format(
          R"({{"ph": "M", "name": "thread_name", "pid": 0, "tid": {}, "args": {{"name": "stream {}"}}}})",
          i % 5, i);
    } else if (i % 7 == 2) {
      text += fmt::format(
          R"({{"ph": "i", "name": "[memory]", "pid": 1, "tid": {}, "ts": {}, "args": {{"Bytes": {}, "Device Type": 1}}}})",
          i % 3, i, i);
    } else {
      text += fmt::format(
          R"({{"ph": "X", "cat": "cpu_op", "name": "op {}", "pid": 1, "tid": {}, "ts": {}, "dur": {}, "args": {{"External id": {}, "Input Dims": [[{}, 8], []]}}}})",
          i, i % 3, i, i % 11 == 0 ? -1 : 3, i, i % 50);
    }
  }
  return text + "]}";
}

void expect_same(const trace::Trace& a, const trace::Trace& b) {
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.duration, b.duration);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.track, b.track);
  EXPECT_EQ(a.correlation, b.correlation);
  EXPECT_EQ(a.external_id, b.external_id);
  EXPECT_EQ(a.detail, b.detail);
  EXPECT_EQ(a.source_index, b.source_index);
  EXPECT_EQ(a.stats.events, b.stats.events);
  EXPECT_EQ(a.stats.reasons, b.stats.reasons);
  EXPECT_EQ(a.stats.ignored, b.stats.ignored);
  EXPECT_EQ(a.stats.warnings, b.stats.warnings);
  ASSERT_EQ(a.strings.size(), b.strings.size());
  for (trace::StringId id = 0; id < a.strings.size(); ++id) ASSERT_EQ(a.strings.view(id), b.strings.view(id));
  ASSERT_EQ(a.tracks.size(), b.tracks.size());
  for (std::size_t i = 0; i < a.tracks.size(); ++i) {
    EXPECT_EQ(a.tracks[i].pid + "/" + a.tracks[i].tid, b.tracks[i].pid + "/" + b.tracks[i].tid);
    EXPECT_EQ(a.tracks[i].name, b.tracks[i].name);
  }
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.op_details.size(), b.op_details.size());
  ASSERT_EQ(a.device_details.size(), b.device_details.size());
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (std::size_t i = 0; i < a.op_details.size(); ++i)
    ASSERT_EQ(a.op_details[i].input_dims, b.op_details[i].input_dims);
  for (std::size_t i = 0; i < a.device_details.size(); ++i)
    ASSERT_EQ(a.device_details[i].grid, b.device_details[i].grid);
  for (std::size_t i = 0; i < a.memory.size(); ++i) ASSERT_EQ(a.memory[i].track, b.memory[i].track);
}

TEST(Parallel, AnyNumberOfThreadsMakesTheSameTrace) {
  const std::string text = large_trace(26);
  const auto one = read_trace_bytes(text, "large", {.salvage = false, .threads = 1});
  ASSERT_TRUE(one) << base::describe(one.error());
  EXPECT_GT(one->stats.events, 150000u);
  EXPECT_GE(one->stats.reasons.at("damaged JSON"), 3u);
  for (const int threads : {2, 5}) {
    const auto many = read_trace_bytes(text, "large", {.salvage = false, .threads = threads});
    ASSERT_TRUE(many) << base::describe(many.error());
    expect_same(*one, *many);
  }
}

// Names and tracks that the chunks share, and lists that are written in several ways.
std::string repeating_trace(std::size_t megabytes) {
  std::string text = R"({"traceEvents": [)";
  constexpr const char* kDims[] = {"[[8, 16], []]", "[[8,16],[]]", "[ [8, 16 ], []]", R"("[[8, 16], []]")",
                                   "[[9, 16], []]"};
  for (int i = 0; text.size() < megabytes << 20; ++i) {
    if (i > 0) text += ",\n";
    text += fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "op {}", "pid": {}, "tid": 1, "ts": {}, "dur": 3, "args": {{"Sequence number": {}, "Input Dims": {}, "Input type": ["float", "{}"]}}}})",
        i < 60000 ? i % 700 : i % 1100, i % 40, i, i, kDims[i % 5], i % 30);
  }
  return text + "]}";
}

TEST(Parallel, ChunksThatShareNamesMakeTheSameTrace) {
  const std::string text = repeating_trace(30);
  const auto one = read_trace_bytes(text, "large", {.salvage = false, .threads = 1});
  ASSERT_TRUE(one) << base::describe(one.error());
  EXPECT_EQ(one->tracks.size(), 40u);
  EXPECT_EQ(one->strings.view(one->op_details[2].input_dims), "[[8,16],[]]");
  EXPECT_EQ(one->op_details[0].input_dims, one->op_details[2].input_dims);
  EXPECT_EQ(one->strings.view(one->op_details[3].input_dims), "[[8, 16], []]");
  EXPECT_EQ(one->strings.view(one->op_details[4].input_dims), "[[9,16],[]]");
  for (const int threads : {2, 3}) {
    const auto many = read_trace_bytes(text, "large", {.salvage = false, .threads = threads});
    ASSERT_TRUE(many) << base::describe(many.error());
    expect_same(*one, *many);
  }
}

TEST(Parallel, ACutLargeFileIsAnErrorForAnyNumberOfThreads) {
  const std::string text = large_trace(12);
  const std::string cut = text.substr(0, text.size() - 20);
  for (const int threads : {1, 3}) {
    const auto trace = read_trace_bytes(cut, "large", {.salvage = false, .threads = threads});
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().byte, cut.size());
  }
}

}  // namespace
}  // namespace hunch::formats
