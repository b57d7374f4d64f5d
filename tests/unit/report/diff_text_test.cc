// The text and JSON of a comparison, on a report made by hand: exact words, and what holds at any width.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "hunch/report/report.h"
#include "hunch/report/utf8.h"

namespace hunch::report {
namespace {

using analysis::diff::Item;
using analysis::diff::ItemKind;
using analysis::diff::Judgement;
using analysis::diff::Sample;
using testing::HasSubstr;
using testing::Not;

Sample steady(int64_t value) { return {value, value, value, value, 3}; }

DiffReport sample() {
  DiffReport report;
  report.before = "a.json";
  report.after = "b.json";
  report.before_device = report.after_device = "GPU";
  DiffForward row;
  auto& diff = row.diff;
  diff.before_range = diff.after_range = "fwd";
  diff.before_runs = diff.after_runs = 3;
  diff.before_backend = "naive";
  diff.after_backend = "flash";
  diff.totals.push_back(
      {"device_ns", true, false, steady(1'063'217), steady(937'332), {Judgement::less, false}});
  diff.totals.push_back({"kernels", false, false, steady(5), steady(5), {}});
  diff.totals.push_back({"memcpy", false, false, steady(1), steady(0), {Judgement::less, false}});
  Item gone;
  gone.kind = ItemKind::vanished;
  gone.op = "aten::masked_fill";
  gone.family = gone.work = "memcpy";
  gone.before_name = gone.before_full = "Memcpy DtoD";
  gone.calls = 1;
  gone.before = steady(127'390);
  gone.reasons.push_back({"hidden_copy", "it clones its input"});
  diff.items.push_back(gone);
  Item same;
  same.op = "aten::mul";
  same.family = "elementwise";
  same.work = "kernel";
  same.before_name = same.after_name = "mul\x1b[2J";
  same.calls = 1;
  same.before = steady(935'827);
  same.after = steady(937'332);
  same.time.judgement = Judgement::within_noise;
  diff.items.push_back(same);
  diff.account = {0, -127'390, 0, 1'505};
  report.forwards.push_back(row);
  report.failures.push_back({"backend", "fwd: naive before, flash after"});
  return report;
}

TEST(DiffText, SaysWhatChangedAndAddsItUp) {
  const std::string text = find_renderer("text")->render(sample(), {});
  EXPECT_THAT(text, HasSubstr("fwd: 3 runs each"));
  EXPECT_THAT(text, HasSubstr("-126 us  -11.8 %  faster"));
  EXPECT_THAT(text, HasSubstr("because   hidden_copy: it clones its input"));
  EXPECT_THAT(text, HasSubstr("-127,390 ns"));
  EXPECT_THAT(text, HasSubstr("+1,505 ns"));
  EXPECT_THAT(text, HasSubstr("-125,885 ns"));
  EXPECT_THAT(text, HasSubstr("= 937,332 - 1,063,217 ns"));
  EXPECT_THAT(text, HasSubstr("other backend"));
  EXPECT_THAT(text, HasSubstr("FAILED backend: fwd: naive before, flash after"));
}

TEST(DiffText, FitsAnyWidthAndHidesNoControlCharacter) {
  DiffReport report = sample();
  report.forwards[0].diff.items[1].changes.push_back({"kernel", "old\x1b[2J", "new"});
  for (const int width : {60, 80, 100, 160}) {
    Style style;
    style.width = width;
    const std::string text = find_renderer("text")->render(report, style);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    std::size_t start = 0;
    while (start < text.size()) {
      const auto end = text.find('\n', start);
      EXPECT_LE(display_width(text.substr(start, end - start)), static_cast<std::size_t>(width))
          << text.substr(start, end - start);
      start = end + 1;
    }
  }
}

TEST(DiffText, ShowsOpsWhereThereAreAny) {
  DiffReport report = sample();
  report.forwards[0].diff.items[0].op.clear();
  EXPECT_THAT(find_renderer("text")->render(report, {}), HasSubstr("(no op)"));
  report.forwards[0].diff.items[1].op.clear();
  const std::string text = find_renderer("text")->render(report, {});
  EXPECT_THAT(text, Not(HasSubstr("(no op)")));
  EXPECT_THAT(text, HasSubstr("vanished  Memcpy DtoD"));
}

TEST(DiffText, TopLimitsWhatIsShown) {
  DiffReport report = sample();
  auto& items = report.forwards[0].diff.items;
  items.insert(items.begin(), 4, items[0]);
  Style style;
  style.top = 2;
  EXPECT_THAT(find_renderer("text")->render(report, style), HasSubstr("and 3 more differences"));
  style.top = 0;
  EXPECT_THAT(find_renderer("text")->render(report, style), Not(HasSubstr("more differences")));
}

TEST(DiffJson, HasItsFields) {
  const std::string text = find_renderer("json")->render(sample(), {});
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(padded).get(root), simdjson::SUCCESS) << text;
  EXPECT_EQ(int64_t(root["schema_version"]), 1);
  const simdjson::dom::element forward = simdjson::dom::array(root["forwards"]).at(0);
  EXPECT_EQ(std::string_view(forward["before_backend"]), "naive");
  EXPECT_EQ(int64_t(forward["account"]["sum_ns"]), -125'885);
  EXPECT_EQ(std::string_view(forward["totals"]["device_ns"]["verdict"]), "less");
  const simdjson::dom::element item = simdjson::dom::array(forward["items"]).at(0);
  EXPECT_EQ(std::string_view(item["change"]), "vanished");
  EXPECT_EQ(int64_t(item["difference_ns"]), -127'390);
  EXPECT_TRUE(item["after_name"].is_null());
  EXPECT_EQ(std::string_view(simdjson::dom::array(item["reasons"]).at(0)["rule"]), "hidden_copy");
  EXPECT_EQ(std::string_view(simdjson::dom::array(root["failures"]).at(0)["condition"]), "backend");
}

}  // namespace
}  // namespace hunch::report
