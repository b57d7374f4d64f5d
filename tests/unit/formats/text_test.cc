#include "hunch/formats/chrome_json/text.h"

#include <gtest/gtest.h>

namespace hunch::formats::chrome_json {
namespace {

std::string plain(std::string_view raw, TextRepairs* repairs = nullptr) {
  std::string scratch;
  TextRepairs seen;
  std::string text(unescape(raw, scratch, seen));
  if (repairs != nullptr) *repairs = seen;
  return text;
}

TEST(Text, EscapesOfJson) {
  EXPECT_EQ(plain("plain"), "plain");
  EXPECT_EQ(plain(R"(a\"b\\c\/d\n\t\r\b\f)"), "a\"b\\c/d\n\t\r\b\f");
  EXPECT_EQ(plain(R"(\u0041\u00e9\u20ac)"), "A\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(plain(R"(\ud83d\ude00)"), "\xF0\x9F\x98\x80");
  TextRepairs repairs;
  plain(R"(\u0041)", &repairs);
  EXPECT_FALSE(repairs.escapes);
  EXPECT_FALSE(repairs.utf8);
}

TEST(Text, InvalidEscapesStay) {
  TextRepairs repairs;
  EXPECT_EQ(plain(R"(torch\cuda\__init__.py(219): _lazy_init)", &repairs),
            R"(torch\cuda\__init__.py(219): _lazy_init)");
  EXPECT_TRUE(repairs.escapes);
  EXPECT_EQ(plain(R"(C:\u12 x)", &repairs), R"(C:\u12 x)");
  EXPECT_TRUE(repairs.escapes);
  EXPECT_EQ(plain("end\\", &repairs), "end\\");
}

TEST(Text, LoneSurrogatesAreReplaced) {
  TextRepairs repairs;
  EXPECT_EQ(plain(R"(a\ud83dz)", &repairs), "a\xEF\xBF\xBDz");
  EXPECT_TRUE(repairs.utf8);
  EXPECT_EQ(plain(R"(\ude00)"), "\xEF\xBF\xBD");
  EXPECT_EQ(plain(R"(\ud83d\u0041)"),
            "\xEF\xBF\xBD"
            "A");
}

TEST(Text, Utf8Lengths) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\xC3\xA9"), 2u);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4u);
  for (const char* bad : {"", "\x80", "\xC3(", "\xFF", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xE2\x82"})
    EXPECT_EQ(utf8_length(bad), 0u) << bad;
}

TEST(Text, CompactDropsSpaceOutsideOfStringsOnly) {
  std::string scratch;
  EXPECT_EQ(compact("[[8, 16, 1024, 64], [ ]]", scratch), "[[8,16,1024,64],[]]");
  EXPECT_EQ(compact(R"(["c10::B Float", "a\" b", ""])", scratch), R"(["c10::B Float","a\" b",""])");
}

}  // namespace
}  // namespace hunch::formats::chrome_json
