// JSON: the writer's escapes and numbers, and the fields that scripts rely on, read back by a JSON parser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <limits>

#include "hunch/report/json/json_writer.h"
#include "sample_reports.h"

namespace hunch::report {
namespace {

using simdjson::dom::element;

// A parsed document; the parser owns what the element points into.
struct Parsed {
  explicit Parsed(const Document& document) : text(find_renderer("json")->render(document, {})), parser() {
    const auto error = parser.parse(text).get(root);
    EXPECT_EQ(error, simdjson::SUCCESS) << text;
  }
  std::string text;
  simdjson::dom::parser parser;
  element root;
};

std::vector<std::string> keys(element object) {
  std::vector<std::string> names;
  for (const auto field : simdjson::dom::object(object)) names.emplace_back(field.key);
  return names;
}

std::string string_at(element root, const char* pointer) {
  std::string_view value;
  EXPECT_EQ(root.at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer;
  return std::string(value);
}

int64_t int_at(element root, const char* pointer) {
  int64_t value = -1;
  EXPECT_EQ(root.at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer;
  return value;
}

bool null_at(element root, const char* pointer) {
  element value;
  EXPECT_EQ(root.at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer;
  return value.is_null();
}

TEST(JsonWriter, Escapes) {
  EXPECT_EQ(json::quoted("a\"b\\c\n\t\r\x01\x7f/"), "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007f/\"");
  EXPECT_EQ(json::quoted("\xE6\x97\xA5 \xF0\x9F\x94\xA5"), "\"\xE6\x97\xA5 \xF0\x9F\x94\xA5\"");
  EXPECT_EQ(json::quoted("\x80\xC3("), "\"\\ufffd\\ufffd(\"");
  EXPECT_EQ(json::quoted(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(JsonWriter, NumbersAreNeverNaN) {
  json::Writer writer;
  writer.begin_array(true);
  writer.number(std::numeric_limits<double>::quiet_NaN());
  writer.number(-std::numeric_limits<double>::infinity());
  writer.number(0.1);
  writer.number(std::numeric_limits<int64_t>::min());
  writer.number(std::numeric_limits<uint64_t>::max());
  writer.end_array();
  EXPECT_EQ(writer.take(), "[null, null, 0.1, -9223372036854775808, 18446744073709551615]\n");
}

TEST(JsonWriter, Nests) {
  json::Writer writer;
  writer.begin_object();
  writer.key("empty");
  writer.begin_array();
  writer.end_array();
  writer.key("objects");
  writer.begin_array();
  writer.begin_object(true);
  writer.field("a", 1);
  writer.field("b", true);
  writer.end_object();
  writer.end_array();
  writer.end_object();
  EXPECT_EQ(writer.take(), "{\n  \"empty\": [],\n  \"objects\": [\n    {\"a\": 1, \"b\": true}\n  ]\n}\n");
}

TEST(Json, EveryDocumentParsesAndOpensWithItsVersion) {
  for (const Document& document :
       std::vector<Document>{sample_explain(6), ExplainReport{}, sample_run(), RunReport{}, sample_check(),
                             CheckReport{}, sample_doctor(), sample_names()}) {
    Parsed parsed(document);
    EXPECT_EQ(keys(parsed.root).front(), "schema_version");
    EXPECT_EQ(int_at(parsed.root, "/schema_version"), 1);
    EXPECT_EQ(parsed.text.back(), '\n');
  }
}

TEST(Json, ExplainHasTheFieldsOfTheManual) {
  Parsed parsed(sample_explain(6));
  EXPECT_THAT(keys(parsed.root), testing::ElementsAre("schema_version", "trace", "forwards", "kernels",
                                                      "findings", "statistics"));
  EXPECT_THAT(keys(parsed.root.at_pointer("/forwards/0").value()),
              testing::IsSupersetOf({"range", "runs", "kernels", "memcpy", "memset", "device_ns", "host_ns",
                                     "backend", "sequence"}));
  EXPECT_EQ(int_at(parsed.root, "/forwards/0/kernels"), 5);
  EXPECT_EQ(int_at(parsed.root, "/forwards/0/memset/min"), 0);
  EXPECT_EQ(int_at(parsed.root, "/forwards/0/memset/median"), 1);
  EXPECT_EQ(int_at(parsed.root, "/forwards/0/memset/max"), 1);
  EXPECT_THAT(keys(parsed.root.at_pointer("/forwards/0/sequence/0").value()),
              testing::ElementsAre("kind", "family", "op", "inner_op", "name", "device_ns", "event"));
  EXPECT_EQ(int_at(parsed.root, "/forwards/0/sequence/1/event"), 31);
  EXPECT_THAT(keys(parsed.root.at_pointer("/kernels/0").value()),
              testing::IsSupersetOf({"range", "name", "readable", "family", "op", "calls", "device_ns",
                                     "registers", "shared_bytes", "block", "grid", "occupancy"}));
  EXPECT_THAT(keys(parsed.root.at_pointer("/kernels/0/occupancy").value()),
              testing::IsSupersetOf({"reported_pct", "theoretical_pct", "limited_by"}));
  EXPECT_THAT(
      keys(parsed.root.at_pointer("/findings/0").value()),
      testing::ElementsAre("rule", "range", "claim", "cause", "advice", "cost_ns", "cost_bytes", "events"));
  EXPECT_EQ(int_at(parsed.root, "/findings/0/events/0"), 35);
  EXPECT_EQ(int_at(parsed.root, "/statistics/events"), 1234);
  EXPECT_EQ(int_at(parsed.root, "/statistics/skipped"), 3);
  EXPECT_EQ(int_at(parsed.root, "/statistics/unattributed_device_events"), 7);
}

TEST(Json, RunHasTheFieldsOfTheManual) {
  Parsed parsed(sample_run());
  EXPECT_THAT(keys(parsed.root), testing::IsSupersetOf({"schema_version", "device", "problem", "variants"}));
  EXPECT_THAT(keys(parsed.root.at_pointer("/variants/0").value()),
              testing::IsSupersetOf({"name", "available", "reasons", "kernels", "memcpy", "memset",
                                     "device_ns", "host_ns", "peak_bytes", "occupancy", "max_abs_error",
                                     "guess", "findings", "trace"}));
  EXPECT_EQ(int_at(parsed.root, "/problem/batch"), 1);
  EXPECT_EQ(string_at(parsed.root, "/problem/dtype"), "bf16");
  EXPECT_TRUE(null_at(parsed.root, "/variants/1/kernels"));
  EXPECT_EQ(string_at(parsed.root, "/variants/1/reasons/1"), "this build has no cuDNN");
  EXPECT_EQ(string_at(parsed.root, "/variants/0/trace"), "traces/naive_inplace.json.gz");
  EXPECT_EQ(int_at(parsed.root, "/variants/0/first_call/prepare_ns"), 1'200'000);
  EXPECT_EQ(int_at(parsed.root, "/variants/0/first_call/host_ns"), 300'000);
  EXPECT_TRUE(null_at(parsed.root, "/variants/1/first_call"));
}

TEST(Json, AnErrorThatIsNotANumberIsNull) {
  RunReport report = sample_run();
  report.variants[0].max_abs_error = std::numeric_limits<double>::quiet_NaN();
  Parsed parsed(report);
  EXPECT_TRUE(null_at(parsed.root, "/variants/0/max_abs_error"));
}

TEST(Json, CheckHasTheFieldsOfTheManual) {
  Parsed parsed(sample_check());
  EXPECT_THAT(keys(parsed.root.at_pointer("/verdicts/0").value()),
              testing::ElementsAre("range", "metric", "expected", "seen", "verdict", "why", "events"));
  EXPECT_EQ(string_at(parsed.root, "/verdicts/0/verdict"), "misses");
  EXPECT_EQ(string_at(parsed.root, "/verdicts/1/verdict"), "unknown");
  EXPECT_TRUE(null_at(parsed.root, "/verdicts/1/seen"));
  EXPECT_EQ(string_at(parsed.root, "/verdicts/2/verdict"), "holds");
}

TEST(Json, NameTellsUntoldAsNull) {
  Parsed parsed(sample_names());
  EXPECT_THAT(keys(parsed.root.at_pointer("/names/0").value()),
              testing::IsSupersetOf({"name", "readable", "family", "provider", "backend", "dtype",
                                     "tensor_cores", "tile", "architecture"}));
  EXPECT_TRUE(bool(parsed.root.at_pointer("/names/0/tensor_cores").value()));
  EXPECT_TRUE(null_at(parsed.root, "/names/1/tensor_cores"));
  EXPECT_EQ(string_at(parsed.root, "/names/1/family"), "unknown");
}

}  // namespace
}  // namespace hunch::report
