#include "hunch/formats/chrome_json/numbers.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hunch::formats::chrome_json {
namespace {

TEST(Numbers, TimesAreExactNanoseconds) {
  EXPECT_EQ(parse_time("0"), 0);
  EXPECT_EQ(parse_time("5"), 5000);
  EXPECT_EQ(parse_time("5204627728102.090"), 5204627728102090);
  EXPECT_EQ(parse_time("1665536373729077"), 1665536373729077000);  // more digits than a double holds
  EXPECT_EQ(parse_time("1778650000000000.123"), 1778650000000000123);
  EXPECT_EQ(parse_time("999999999999999.999"), 999999999999999999);
  EXPECT_EQ(parse_time("0.2"), 200);
  EXPECT_EQ(parse_time("100.70"), 100700);
  EXPECT_EQ(parse_time(".5"), 500);
  EXPECT_EQ(parse_time("7."), 7000);
  EXPECT_EQ(parse_time("-1.5"), -1500);
  EXPECT_EQ(parse_time("0000000000000000000000000012.5"), 12500);
}

// Digits are taken eight at a time where there are as many; behind many zeros they are taken one by one.
TEST(Numbers, AnyByteInAnyPlaceMeansTheSameHoweverManyDigitsAreTakenAtOnce) {
  std::mt19937_64 random(7);
  const std::string zeros(20, '0');
  for (int length = 1; length <= 15; ++length) {
    std::string digits;
    for (int i = 0; i < length; ++i) digits += static_cast<char>('0' + random() % 10);
    for (const char* fraction : {"", ".", ".1", ".987", ".12345"}) {
      const std::string text = digits + fraction;
      ASSERT_TRUE(parse_time(text)) << text;
      EXPECT_EQ(parse_time(text), parse_time(zeros + text)) << text;
      for (std::size_t place = 1; place < text.size(); ++place)
        for (int byte = 0; byte < 256; ++byte) {
          std::string changed = text;
          changed[place] = static_cast<char>(byte);
          ASSERT_EQ(parse_time(changed), parse_time(zeros + changed)) << changed;
        }
    }
    EXPECT_EQ(parse_time(digits), 1000 * std::stoll(digits));
    EXPECT_EQ(parse_signed(digits), std::stoll(digits));
    EXPECT_EQ(parse_unsigned(digits), std::stoull(digits));
  }
}

TEST(Numbers, HalfANanosecondRoundsAwayFromZero) {
  EXPECT_EQ(parse_time("0.0004"), 0);
  EXPECT_EQ(parse_time("0.0005"), 1);
  EXPECT_EQ(parse_time("0.00049999999999999999999999"), 0);
  EXPECT_EQ(parse_time("1.0005"), 1001);
  EXPECT_EQ(parse_time("-1.0005"), -1001);
  EXPECT_EQ(parse_time("-0.0004"), 0);
  EXPECT_EQ(parse_time("1.9995"), 2000);
  EXPECT_EQ(parse_time("12345.678949999"), 12345679);
}

TEST(Numbers, ExponentsScaleDigitsNotDoubles) {
  EXPECT_EQ(parse_time("1e3"), 1000000);
  EXPECT_EQ(parse_time("1.5E+2"), 150000);
  EXPECT_EQ(parse_time("123456789.5e-3"), 123456790);
  EXPECT_EQ(parse_time("1e-4"), 0);
  EXPECT_EQ(parse_time("5e-4"), 1);
  EXPECT_EQ(parse_time("0e999999999999"), 0);
  EXPECT_EQ(parse_time("1e-999999999999"), 0);
  EXPECT_EQ(parse_time("1.7517514e15"), 1751751400000000000);
}

TEST(Numbers, TextThatHoldsANumber) {
  EXPECT_EQ(parse_time("\"1778650000000000.123\""), 1778650000000000123);
  EXPECT_EQ(parse_time("\" 12.5 \""), 12500);
  EXPECT_EQ(parse_signed("\"-5\""), -5);
  EXPECT_EQ(parse_unsigned("\"18446744073709551615\""), UINT64_MAX);
}

TEST(Numbers, WhatIsNoNumberIsNothing) {
  for (const char* text : {"",
                           "-",
                           ".",
                           "\"",
                           "\"\"",
                           "1.2.3",
                           "-1.-500",
                           "1e",
                           "1e+",
                           "0x10",
                           "NaN",
                           "Infinity",
                           "true",
                           "null",
                           "12abc",
                           "[1]",
                           "1 2",
                           "--1",
                           "1e400",
                           "99999999999999999999",
                           "9223372036854776"})
    EXPECT_FALSE(parse_time(text)) << text;
  EXPECT_EQ(parse_time("9223372036854775.807"), INT64_MAX);
  EXPECT_FALSE(parse_time("9223372036854775.808"));
  EXPECT_EQ(parse_time("-9223372036854775.808"), INT64_MIN);
}

TEST(Numbers, WholeNumbers) {
  EXPECT_EQ(parse_signed("-1"), -1);
  EXPECT_EQ(parse_signed("7.0"), 7);
  EXPECT_EQ(parse_signed("7e2"), 700);
  EXPECT_FALSE(parse_signed("7.5"));
  EXPECT_EQ(parse_signed("9223372036854775807"), INT64_MAX);
  EXPECT_FALSE(parse_signed("9223372036854775808"));
  EXPECT_EQ(parse_unsigned("9223372036854775808"), uint64_t{1} << 63);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_FALSE(parse_unsigned("18446744073709551616"));
  EXPECT_FALSE(parse_unsigned("-1"));
  EXPECT_EQ(parse_unsigned("-0"), 0u);
  EXPECT_FALSE(parse_unsigned("true"));
  EXPECT_EQ(parse_signed("999999999999999999"), 999999999999999999);
  EXPECT_EQ(parse_signed("1000000000000000000"), 1000000000000000000);
  EXPECT_EQ(parse_unsigned("0000000000000000000012"), 12u);
  EXPECT_FALSE(parse_signed(""));
  EXPECT_FALSE(parse_unsigned("1/2"));
  EXPECT_FALSE(parse_unsigned("1:2"));
}

TEST(Numbers, Reals) {
  EXPECT_EQ(parse_real("0.8"), 0.8);
  EXPECT_EQ(parse_real("-1.0"), -1.0);
  EXPECT_EQ(parse_real("\"12\""), 12.0);
  EXPECT_FALSE(parse_real("nan"));
  EXPECT_FALSE(parse_real("inf"));
  EXPECT_FALSE(parse_real("12 %"));
  EXPECT_FALSE(parse_real(""));
}

}  // namespace
}  // namespace hunch::formats::chrome_json
