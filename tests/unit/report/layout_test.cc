// Wrapping, shortening and tables: by columns, within the width, without blanks at line ends.
#include "hunch/report/terminal/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/base/strings.h"
#include "hunch/report/utf8.h"

namespace hunch::report::terminal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Style style_of(int width) {
  Style style;
  style.width = width;
  return style;
}

TEST(Wrap, FillsLinesAndKeepsLongWordsWhole) {
  EXPECT_THAT(wrap("one two three four", 9), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(wrap("a unbreakableword b", 5), ElementsAre("a", "unbreakableword", "b"));
  EXPECT_THAT(wrap("", 5), ElementsAre(""));
  EXPECT_THAT(wrap("  two   blanks ", 20), ElementsAre("two blanks"));
}

TEST(Shorten, LeavesTheMiddleOut) {
  EXPECT_EQ(shorten("abcdefghij", 10, style_of(80)), "abcdefghij");
  const std::string cut = shorten("abcdefghijklmnop", 9, style_of(80));
  EXPECT_EQ(display_width(cut), 9U);
  EXPECT_EQ(cut.front(), 'a');
  EXPECT_EQ(cut.back(), 'p');
  Style ascii = style_of(80);
  ascii.unicode = false;
  EXPECT_EQ(shorten("abcdefghijklmnop", 9, ascii), "abcde..op");
}

TEST(Shorten, NeverCutsACharacter) {
  const std::string wide = "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E";
  for (std::size_t columns = 1; columns < 13; ++columns) {
    const std::string cut = shorten(wide, columns, style_of(80));
    EXPECT_LE(display_width(cut), columns);
    EXPECT_EQ(printable(cut), cut) << "broken UTF-8 at " << columns;
  }
}

Table sample() {
  Table table({{"op", Align::left, 5, 8}, {"time", Align::right, 9}, {"share", Align::right, 1}}, 2);
  table.add({{"aten::masked_fill > copy_", Ink::plain}, {"127 us", Ink::plain}, {"12 %", Ink::plain}});
  table.add({{"x", Ink::plain}, {"1.06 ms", Ink::plain}, {"100 %", Ink::plain}});
  return table;
}

TEST(Table, AlignsNumbersRight) {
  std::string out;
  sample().render(style_of(80), out);
  EXPECT_EQ(out,
            "  op                            time  share\n"
            "  aten::masked_fill > copy_   127 us   12 %\n"
            "  x                          1.06 ms  100 %\n");
}

TEST(Table, ShrinksBeforeItDrops) {
  std::string out;
  sample().render(style_of(32), out);
  EXPECT_THAT(out, HasSubstr("share"));
  for (const auto line : base::split(out, '\n')) EXPECT_LE(display_width(line), 32U) << line;
  EXPECT_THAT(sample().dropped(style_of(32)), ElementsAre());
}

TEST(Table, DropsTheColumnKeptLeast) {
  std::string out;
  sample().render(style_of(22), out);
  EXPECT_THAT(out, Not(HasSubstr("share")));
  EXPECT_THAT(out, HasSubstr("1.06 ms"));
  EXPECT_THAT(sample().dropped(style_of(22)), ElementsAre("share"));
}

TEST(Table, LeavesOutColumnsWithoutText) {
  Table table({{"op", Align::left, 5}, {"regs", Align::right, 1}}, 0);
  table.add({{"a", Ink::plain}, {"", Ink::plain}});
  std::string out;
  table.render(style_of(80), out);
  EXPECT_EQ(out, "op\na\n");
}

TEST(Table, WidthsCountColumnsNotBytesOrColours) {
  Style style = style_of(80);
  style.color = true;
  Table table({{"kernel", Align::left, 5}, {"time", Align::right, 5}}, 0);
  table.add({{"\xE6\x97\xA5\xE6\x9C\xAC", Ink::good}, {"1 us", Ink::bad}});
  table.add({{"abcdef", Ink::plain}, {"10 us", Ink::plain}});
  std::string out;
  table.render(style, out);
  std::string plain;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\x1b')
      i = out.find('m', i);
    else
      plain += out[i];
  }
  EXPECT_EQ(plain, "kernel   time\n\xE6\x97\xA5\xE6\x9C\xAC     1 us\nabcdef  10 us\n");
  EXPECT_THAT(out, HasSubstr("\x1b[32m"));
}

TEST(Labelled, WrapsBesideItsLabel) {
  std::string out;
  labelled(out, style_of(30), 2, "because", 9, "one two three four five six");
  EXPECT_EQ(out, "  because  one two three four\n           five six\n");
}

}  // namespace
}  // namespace hunch::report::terminal
