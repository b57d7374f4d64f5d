// CSV and Markdown: headers, quoting, escaping, integers in ns and bytes, and --top.
#include <gmock/gmock.h>

#include "hunch/report/report.h"
#include "sample_reports.h"

namespace hunch::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string render(std::string_view format, const Document& document, Style style = {}) {
  return find_renderer(format)->render(document, style);
}

// The records of an RFC 4180 text.
std::vector<std::vector<std::string>> records_of(const std::string& text) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> record(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"')
        record.back() += text[i++];
      else if (c == '"')
        quoted = false;
      else
        record.back() += c;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      record.emplace_back();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      records.push_back(std::exchange(record, std::vector<std::string>(1)));
    } else {
      record.back() += c;
    }
  }
  EXPECT_EQ(record, std::vector<std::string>(1)) << "the text does not end with a record";
  return records;
}

std::vector<Document> documents() {
  return {sample_explain(6), sample_run(), sample_check(), sample_doctor(), sample_names(), DiffReport{}};
}

TEST(Csv, EveryDocumentIsOneRectangle) {
  for (const Document& document : documents()) {
    const auto records = records_of(render("csv", document));
    ASSERT_FALSE(records.empty());
    EXPECT_GT(records[0].size(), 2U);
    for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
  }
}

TEST(Csv, KernelsAreWholeAndTopCutsOnlyWhenAsked) {
  const auto report = sample_explain(30);
  EXPECT_EQ(records_of(render("csv", report)).size(), 31U);
  Style style;
  style.top = 2;
  style.top_given = true;
  EXPECT_EQ(records_of(render("csv", report, style)).size(), 3U);
  style.top = 0;
  EXPECT_EQ(records_of(render("csv", report, style)).size(), 31U);
}

TEST(Csv, QuotesWhatNeedsIt) {
  ExplainReport report = sample_explain(1);
  const std::string awkward = "f<1, \"a\">\r\nnext";
  report.kernels[0].name = awkward;
  report.kernels[0].registers = -1;
  const auto records = records_of(render("csv", report));
  ASSERT_EQ(records.size(), 2U);
  const auto column = [&](std::string_view title) {
    const auto at = std::find(records[0].begin(), records[0].end(), title);
    EXPECT_NE(at, records[0].end()) << title;
    return records[1][static_cast<std::size_t>(at - records[0].begin())];
  };
  EXPECT_EQ(column("name"), awkward);
  EXPECT_EQ(column("registers"), "");
  EXPECT_EQ(column("device_ns"), "127000");
  EXPECT_EQ(column("shared_bytes"), "134144");
  EXPECT_EQ(column("theoretical_occupancy_pct"), "18.75");
}

TEST(Csv, RowsOfASplit) {
  ExplainReport report = sample_explain(2);
  report.per = Per::op;
  PerRow row;
  row.name = "aten::mul";
  row.calls = 3;
  row.kernels = 4;
  row.device_ns = 1234;
  report.forwards[0].per = {row};
  const auto records = records_of(render("csv", report));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0][1], "op");
  EXPECT_EQ(records[1],
            (std::vector<std::string>{"attn_fwd", "aten::mul", "3", "4", "0", "0", "1234", "", ""}));
}

// Cells of a line of a table: pipes that no backslash escapes separate them.
std::size_t cells_of(std::string_view line) {
  std::size_t pipes = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '|')
      ++pipes;
  }
  return pipes;
}

TEST(Markdown, TablesHaveTheSameCellsInEachLine) {
  ExplainReport awkward = sample_explain(3);
  awkward.kernels[0].readable = "a|b `c` <d>";
  auto all = documents();
  all.push_back(awkward);
  for (const Document& document : all) {
    const std::string text = render("markdown", document);
    EXPECT_EQ(text.back(), '\n');
    std::size_t begin = 0, cells = 0;
    while (begin < text.size()) {
      const auto end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      if (line.empty() || line[0] != '|') {
        cells = 0;
        continue;
      }
      if (cells > 0) {
        EXPECT_EQ(cells_of(line), cells) << line;
      }
      cells = cells_of(line);
    }
  }
}

TEST(Markdown, FindingsAreAListAndTextsCannotBreakOut) {
  ExplainReport report = sample_explain(1);
  report.findings[0].finding.claim = "1 <b>copy</b> @person #12 [x](y)\n# heading";
  const std::string text = render("markdown", report);
  EXPECT_THAT(text, StartsWith("# `naive.json.gz`\n"));
  EXPECT_THAT(text, HasSubstr("\n## `attn_fwd`\n"));
  EXPECT_THAT(text,
              HasSubstr("\n- **hidden\\_copy**: 1 &lt;b&gt;copy&lt;/b&gt; &#64;person &#35;12 \\[x\\](y) "));
  EXPECT_THAT(text, Not(HasSubstr("\n# heading")));
}

TEST(Markdown, TopCutsAndSaysSo) {
  Style style;
  style.top = 2;
  EXPECT_THAT(render("markdown", sample_explain(5), style), HasSubstr("\n3 more; `--top 0` shows all.\n"));
  style.top = 0;
  EXPECT_THAT(render("markdown", sample_explain(5), style), Not(HasSubstr("more;")));
}

}  // namespace
}  // namespace hunch::report
