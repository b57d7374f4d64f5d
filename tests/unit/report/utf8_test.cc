// Decoding and widths: valid and broken UTF-8, wide and combining characters, and names that try to move the
// cursor.
#include "hunch/report/utf8.h"

#include <gtest/gtest.h>

namespace hunch::report {
namespace {

TEST(Utf8, DecodesEachLength) {
  EXPECT_EQ(decode("a", 0).value, U'a');
  EXPECT_EQ(decode("\xC3\xA4", 0).value, U'\u00E4');
  EXPECT_EQ(decode("\xE6\x97\xA5", 0).value, U'\u65E5');
  EXPECT_EQ(decode("\xF0\x9F\x94\xA5", 0).value, U'\U0001F525');
  EXPECT_EQ(decode("\xF0\x9F\x94\xA5", 0).length, 4U);
}

TEST(Utf8, BrokenBytesTakeOneByteEach) {
  for (const char* text : {"\x80", "\xC3(", "\xFF", "\xE6\x97", "\xC0\x80", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF0\x80\x80\x80"}) {
    const CodePoint point = decode(text, 0);
    EXPECT_FALSE(point.valid) << text;
    EXPECT_EQ(point.length, 1U);
    EXPECT_EQ(point.value, char32_t{0xFFFD});
  }
}

TEST(Utf8, WidthCountsColumns) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\xC3\xA4"), 1U);
  EXPECT_EQ(display_width("\xE6\x97\xA5\xE6\x9C\xAC"), 4U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);
  EXPECT_EQ(display_width("\xF0\x9F\x94\xA5"), 2U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Utf8, PrintableLeavesNoControlCharacter) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\nb\tc"), "a b c");
  EXPECT_EQ(printable("x\x80y"), "x\xEF\xBF\xBDy");
  EXPECT_EQ(printable("\xC2\x9B"), "\\x9b");  // C1 control: CSI in one character
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "ab");  // right-to-left override
  EXPECT_EQ(printable("\xE6\x97\xA5"), "\xE6\x97\xA5");
}

}  // namespace
}  // namespace hunch::report
