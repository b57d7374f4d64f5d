// Damage inside of events and behind them: what can be kept is kept, and every loss is counted and said.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "hunch/base/result.h"
#include "hunch/formats/reader.h"

namespace hunch::formats {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string named(const std::string& name) {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {{"External id": 3}}}})",
      name);
}

const std::string kGood = named("good");

trace::Trace read(const std::string& text) {
  auto trace = read_trace_bytes(text, "test.json");
  EXPECT_TRUE(trace) << base::describe(trace.error());
  return trace ? std::move(*trace) : trace::Trace{};
}

// The event between two good ones, with a newline between as Kineto writes it, and packed without.
void between_good_ones(const std::string& event, const std::function<void(const trace::Trace&)>& expect) {
  for (const char* between : {",\n  ", ","}) {
    SCOPED_TRACE(between);
    const auto trace =
        read(R"({"traceEvents": [)" + kGood + between + event + between + kGood + R"(], "traceName": "t"})");
    EXPECT_EQ(trace.stats.events, 3u);
    ASSERT_GE(trace.size(), 2u);
    EXPECT_EQ(trace.name_of(0), "good");
    EXPECT_EQ(trace.name_of(static_cast<trace::EventId>(trace.size() - 1)), "good");
    EXPECT_EQ(trace.metadata.count("traceName"), 1u);
    expect(trace);
  }
}

void kept_as(const std::string& event, const std::string& name, const std::string& repair) {
  between_good_ones(event, [&](const trace::Trace& trace) {
    ASSERT_EQ(trace.size(), 3u);
    EXPECT_EQ(trace.name_of(1), name);
    EXPECT_EQ(trace.external_id[1], 3u);
    EXPECT_EQ(trace.stats.skipped, 0u);
    EXPECT_THAT(trace.stats.repaired, Contains(Pair(HasSubstr(repair), 1)));
  });
}

void skipped(const std::string& event, const std::string& reason) {
  between_good_ones(event, [&](const trace::Trace& trace) {
    EXPECT_EQ(trace.size(), 2u);
    EXPECT_THAT(trace.stats.reasons, ElementsAre(Pair(reason, 1)));
    if (reason == "damaged JSON") {
      ASSERT_EQ(trace.stats.warnings.size(), 1u);
      EXPECT_THAT(trace.stats.warnings[0], HasSubstr("byte"));
    }
  });
}

TEST(Damage, WindowsPathsStayAsWritten) {
  kept_as(named(R"(torch\cuda\__init__.py(219): _lazy_init)"), R"(torch\cuda\__init__.py(219): _lazy_init)",
          "invalid escape");
  kept_as(named(R"(C:\user12\_x)"), R"(C:\user12\_x)", "invalid escape");
}

TEST(Damage, BareQuotesInNames) {
  kept_as(named(R"(module "quoted" here)"), R"(module "quoted" here)", "bare quotes");
  kept_as(named(R"(<string "a", line 3>)"), R"(<string "a", line 3>)", "bare quotes");
  kept_as(named(R"({"device": "cpu", "index": 0}(12): run)"), R"({"device": "cpu", "index": 0}(12): run)",
          "bare quotes");
  kept_as(named("class A:\n  \"doc\""), "class A:\n  \"doc\"", "bare quotes");
}

TEST(Damage, RawControlCharactersInNames) { kept_as(named("two\nlines\x01"), "two\nlines\x01", "control"); }

TEST(Damage, DoubledQuotesInArgs) {
  between_good_ones(R"({"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 7, "ts": 1, "dur": 1,
      "args": {"Collective name": ""allreduce"", "stream": 7, "correlation": 9}})",
                    [](const trace::Trace& trace) {
                      ASSERT_EQ(trace.size(), 3u);
                      EXPECT_EQ(trace.correlation[1], 9u);
                      ASSERT_NE(trace.device_detail(1), nullptr);
                      EXPECT_EQ(trace.device_detail(1)->stream, 7);
                    });
}

TEST(Damage, InvalidUtf8) {
  kept_as(named("a\x80z"), "a\xEF\xBF\xBDz", "UTF-8");
  kept_as(named("\xC3(\xFF"), "\xEF\xBF\xBD(\xEF\xBF\xBD", "UTF-8");
  between_good_ones(
      "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"hipGetFunc\", \"pid\": 1, \"tid\": 1, \"ts\": "
      "1, \"dur\": 1, "
      "\"args\": {\"fname\": \"\xFF\xFE\", \"correlation\": 4}}",
      [](const trace::Trace& trace) {
        ASSERT_EQ(trace.size(), 3u);
        EXPECT_EQ(trace.correlation[1], 4u);
      });
}

TEST(Damage, AnEventBeyondRepairCostsOnlyItself) {
  skipped(R"({"ph": "f", "id": 5, "pid": 0, tid": 0, "ts": 1, "cat": "ac2g", "name": "ac2g"})",
          "damaged JSON");
  skipped(R"({"ph": "X", "name": "x", "ts": 1, "dur": 1, "args": {"Call stack": model.py(12): forward}})",
          "damaged JSON");
  skipped(R"({"ph": "X", "name": "x", "ts": 1, "dur": 1, "args": {"a": )", "damaged JSON");
  skipped(R"({"ph": "X" "name": "x", "ts": 1, "dur": 1})", "damaged JSON");
  skipped(R"({"ph": "X", "name": "x", "ts": 1, "dur": -1.-500})", "duration is no number or out of range");
}

TEST(Damage, PythonWordsAreNoDamage) {
  between_good_ones(
      R"({"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"flag": True, "none": None}})",
      [](const trace::Trace& trace) { EXPECT_EQ(trace.size(), 3u); });
}

TEST(Damage, TheLastEventDamaged) {
  const auto trace = read(R"({"traceEvents": [)" + kGood +
                          R"(, {"ph": "X", "name": oops oops, "ts": 1}], "traceName": "t"})");
  EXPECT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.stats.skipped, 1u);
  EXPECT_EQ(trace.metadata.at("traceName"), "t");
}

TEST(Damage, ABrokenTailKeepsTheEvents) {
  for (const char* tail : {
           R"(, "INFO": ["cudaEvent "event_id": 64"], "baseTimeNanoseconds": 1000})",
           ", \"ERROR\": [\"a\nb \\c \"x\"\"], \"baseTimeNanoseconds\": 1000}",
           R"(, tid": 0, "baseTimeNanoseconds": 1000})",
       }) {
    const auto trace = read(R"({"traceEvents": [)" + kGood + "]" + tail);
    EXPECT_EQ(trace.size(), 1u);
    EXPECT_EQ(trace.stats.skipped, 0u);
    EXPECT_EQ(trace.start[0], 2000) << tail;
    EXPECT_LE(trace.stats.warnings.size(), 1u);
  }
  EXPECT_EQ(read(R"({"traceEvents": [)" + kGood + R"(], "traceName": "t)").stats.warnings.size(), 1u);
  EXPECT_EQ(read(R"({"traceEvents": [)" + kGood + "]").stats.warnings.size(), 1u);
  EXPECT_EQ(read(R"({"traceEvents": [)" + kGood + "]}}} more").stats.warnings.size(), 1u);
}

TEST(Damage, ABrokenHeadIsPassed) {
  const auto trace = read(R"({"host: 5, "traceEvents": [)" + kGood + "]}");
  EXPECT_EQ(trace.size(), 1u);
  ASSERT_EQ(trace.stats.warnings.size(), 1u);
  EXPECT_THAT(trace.stats.warnings[0], HasSubstr("before the events"));
}

TEST(Damage, BracketsTooManyAmongTheEvents) {
  const std::string head = R"({"traceEvents": [)", tail = R"(], "traceName": "t"})";
  // The end of the list comes too early, with a comma on either side or none.
  for (const char* early : {"],\n", "] ,", ",]", ",],", "]"}) {
    SCOPED_TRACE(early);
    const auto trace = read(head + kGood + early + kGood + "," + kGood + tail);
    EXPECT_EQ(trace.size(), 3u);
    EXPECT_EQ(trace.stats.events, 3u);
    EXPECT_EQ(trace.metadata.count("traceName"), 1u);
    ASSERT_EQ(trace.stats.warnings.size(), 1u);
    EXPECT_THAT(trace.stats.warnings[0], HasSubstr("goes on behind its end"));
    const auto bare = read("[" + kGood + early + kGood + "," + kGood + "]");
    EXPECT_EQ(bare.size(), 3u);
    EXPECT_THAT(bare.stats.warnings, ElementsAre(HasSubstr("goes on behind its end")));
  }
  // A list within the list, closed or not: its events are events.
  for (const char* inner : {"", "]"}) {
    SCOPED_TRACE(inner);
    const auto trace = read(head + kGood + ",[" + kGood + "," + kGood + inner + "," + kGood + tail);
    EXPECT_EQ(trace.size(), 4u);
    EXPECT_EQ(trace.stats.skipped, 1u);
    EXPECT_EQ(trace.metadata.count("traceName"), 1u);
  }
  // A few times only; then what follows is told and left.
  std::string many;
  for (int i = 0; i < 40; ++i) many += kGood + "],";
  const auto trace = read(head + many + kGood + tail);
  EXPECT_EQ(trace.size(), 17u);
  EXPECT_THAT(trace.stats.warnings.back(), HasSubstr("after the events"));
}

TEST(Damage, AListThatAnotherMemberSwallowed) {
  // A bracket that never closes, and one that closes where the file ends.
  for (const char* end : {R"(], "traceName": "t"})", R"(], "traceName": "t"}}]})"}) {
    const auto trace =
        read(R"({"deviceProperties": [{"id": 0, "traceEvents": [)" + kGood + "," + kGood + end);
    EXPECT_EQ(trace.size(), 2u);
    EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("byte")));
  }
  const auto whole = read(R"({"data": {"traceEvents": [)" + kGood + "]}}");
  EXPECT_EQ(whole.size(), 1u);
  EXPECT_THAT(whole.stats.warnings.at(0), HasSubstr("within another member"));
}

TEST(Damage, ManyDamagedEventsAreCountedAndAFewNamed) {
  std::string events = kGood;
  for (int i = 0; i < 40; ++i) events += R"(, {"ph": "X", oops}, )" + kGood;
  const auto trace = read(R"({"traceEvents": [)" + events + "]}");
  EXPECT_EQ(trace.size(), 41u);
  EXPECT_THAT(trace.stats.reasons, ElementsAre(Pair("damaged JSON", 40)));
  EXPECT_EQ(trace.stats.warnings.size(), 6u);
  EXPECT_THAT(trace.stats.warnings.back(), HasSubstr("35 more"));
}

TEST(Damage, EventsOfManyWindowsAroundDamage) {
  // Several windows of good events, with one damaged in the middle of each.
  std::string events = kGood;
  for (int i = 1; i < 12000; ++i)
    events += (i % 2000 == 1000 ? R"(, {"ph": "X", oops}, )" : ",\n") + named(fmt::format("n{}", i));
  const auto trace = read(R"({"traceEvents": [)" + events + "]}");
  EXPECT_EQ(trace.size(), 12000u);
  EXPECT_EQ(trace.stats.skipped, 6u);
  EXPECT_EQ(trace.name_of(11999), "n11999");
}

TEST(Damage, EventsLargerThanAWindowAndNestedLookalikes) {
  // Objects inside of args that open as events do, and one event of a megabyte.
  std::string inner = R"({"ph": "X", "name": "not me"})";
  std::string stack = inner;
  for (int i = 0; i < 40000; ++i) stack += "," + inner;
  const std::string large =
      R"({"ph": "X", "cat": "cpu_op", "name": "large", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"x": [)" +
      stack + "]}}";
  std::string events = kGood;
  for (int i = 0; i < 3000; ++i) events += "," + kGood;
  const auto trace = read(R"({"traceEvents": [)" + events + "," + large + "," + events + "]}");
  EXPECT_EQ(trace.size(), 6003u);
  EXPECT_EQ(trace.stats.skipped, 0u);
  EXPECT_EQ(trace.name_of(3001), "large");
}

TEST(Damage, DeepNestingIsNoTrouble) {
  const std::string deep = R"({"ph": "X", "name": "x", "ts": 1, "dur": 1, "args": {"a": )" +
                           std::string(100000, '[') + std::string(100000, ']') + "}}";
  EXPECT_EQ(read(R"({"traceEvents": [)" + deep + "," + kGood + "]}").size(), 2u);
  const auto open =
      read_trace_bytes(R"({"traceEvents": [)" + kGood + ", {\"a\": " + std::string(100000, '['), "test.json");
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("cut"));
}

}  // namespace
}  // namespace hunch::formats
