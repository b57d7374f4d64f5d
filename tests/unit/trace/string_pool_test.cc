#include "hunch/trace/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace hunch::trace {
namespace {

TEST(StringPool, EachTextOnce) {
  StringPool pool;
  EXPECT_EQ(pool.intern("a"), 0u);
  EXPECT_EQ(pool.intern(""), 1u);
  EXPECT_EQ(pool.intern("a"), 0u);
  EXPECT_EQ(pool.intern(std::string_view("a\0", 2)), 2u);
  EXPECT_EQ(pool.size(), 3u);
  EXPECT_EQ(pool.view(2), std::string_view("a\0", 2));
}

TEST(StringPool, ManyTextsOfAllLengthsKeepTheirIdsAndBytes) {
  StringPool pool;
  const auto text = [](uint32_t i) {
    return std::string(i % 97, static_cast<char>('a' + i % 26)) + std::to_string(i);
  };
  for (uint32_t i = 0; i < 50000; ++i) ASSERT_EQ(pool.intern(text(i)), i);
  const StringPool moved = std::move(pool);
  for (uint32_t i = 0; i < 50000; ++i) ASSERT_EQ(moved.view(i), text(i));
}

TEST(StringPool, LongTextsLiveBesideShortOnes) {
  StringPool pool;
  const std::string large(1 << 20, 'x');
  const auto a = pool.intern("short");
  const auto b = pool.intern(large);
  const auto c = pool.intern(large + "y");
  EXPECT_EQ(pool.view(a), "short");
  EXPECT_EQ(pool.view(b), large);
  EXPECT_EQ(pool.view(c).size(), large.size() + 1);
  EXPECT_EQ(pool.intern(large), b);
}

}  // namespace
}  // namespace hunch::trace
