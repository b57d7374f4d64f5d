// Text helpers: the cases where each could be off by one.
#include "hunch/base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hunch::base {
namespace {

using ::testing::ElementsAre;

TEST(Strings, Trim) {
  EXPECT_EQ(trim("  a b\t\n"), "a b");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \r\n"), "");
  EXPECT_EQ(trim("x"), "x");
}

TEST(Strings, Split) {
  EXPECT_THAT(split("a,b,,c", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
}

TEST(Strings, JoinKeepsEmptyParts) {
  const std::vector<std::string> parts = {"", "a", "", "b"};
  EXPECT_EQ(join(parts, ", "), ", a, , b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join(std::vector<std::string>{"one"}, ", "), "one");
}

TEST(Strings, Contains) {
  EXPECT_TRUE(contains("flash_fwd", "fwd"));
  EXPECT_TRUE(contains("a", ""));
  EXPECT_FALSE(contains("fwd", "flash"));
}

TEST(Strings, Numbers) {
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const auto* bad : {"", " 1", "1 ", "1.0", "x", "9223372036854775808", "+-1", "0x10"})
    EXPECT_EQ(parse_int(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_double("1e3"), 1000.0);
  EXPECT_EQ(parse_double("-.5"), -0.5);
  for (const auto* bad : {"", "1.0x", " 1", "--1"}) EXPECT_EQ(parse_double(bad), std::nullopt) << bad;
}

TEST(Strings, Closest) {
  const std::string_view names[] = {"naive", "naive_inplace", "math", "flash", "cudnn"};
  EXPECT_EQ(closest("flsh", names), "flash");
  EXPECT_EQ(closest("naive-inplace", names), "naive_inplace");
  EXPECT_EQ(closest("math", names), "math");
  EXPECT_EQ(closest("warp_specialised", names), "");
  EXPECT_EQ(closest("x", {}), "");
}

TEST(Strings, DidYouMean) {
  const std::string_view names[] = {"kernels", "memcpy"};
  EXPECT_EQ(did_you_mean("kernals", names), "did you mean 'kernels'?");
  EXPECT_EQ(did_you_mean("occupancy", names), "one of kernels, memcpy");
  EXPECT_EQ(did_you_mean("x", {}), "");
  const std::vector<std::string_view> many(1000, "range");
  EXPECT_TRUE(few_of(many).ends_with("range, range, and 970 more"));
  EXPECT_EQ(few_of(std::span(many).first(30)).size(), 30 * 7 - 2u);
}

}  // namespace
}  // namespace hunch::base
