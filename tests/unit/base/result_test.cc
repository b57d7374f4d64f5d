// Results and their macros; the one-line description; checks.
#include "hunch/base/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "hunch/base/check.h"

namespace hunch::base {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorCode::usage, "odd");
  return value / 2;
}
Result<int> quarter(int value) {
  HUNCH_ASSIGN(const int once, half(value));
  HUNCH_ASSIGN(const int twice, half(once));
  return twice;
}
Status both_even(int a, int b) {
  HUNCH_RETURN_IF_ERROR(half(a));
  HUNCH_RETURN_IF_ERROR(half(b));
  return {};
}
Result<std::unique_ptr<int>> boxed() { return std::make_unique<int>(3); }
Result<int> unboxed() {
  HUNCH_ASSIGN(const auto box, boxed());
  return *box;
}

TEST(Result, MacrosPassValuesAndErrors) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_TRUE(both_even(2, 4));
  EXPECT_FALSE(both_even(2, 3));
  EXPECT_FALSE(both_even(1, 2));
  EXPECT_EQ(unboxed().value(), 3);
}

TEST(Result, Describe) {
  Error error;
  error.message = "not JSON";
  EXPECT_EQ(describe(error), "not JSON");
  error.file = "a.json";
  error.byte = 0;
  error.remedy = "a trace";
  EXPECT_EQ(describe(error), "a.json: byte 0: not JSON (try: a trace)");
  error.remedy = "did you mean 'b.json'?";
  EXPECT_EQ(describe(error), "a.json: byte 0: not JSON (did you mean 'b.json'?)");
}

TEST(CheckDeathTest, SaysWhatAndWhere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(HUNCH_CHECK(1 + 1 == 3, "arithmetic"), "1 \\+ 1 == 3.*result_test.cc.*arithmetic");
  EXPECT_DEATH(HUNCH_CHECK(false), "internal check failed: false");
  HUNCH_CHECK(true);
}

}  // namespace
}  // namespace hunch::base
