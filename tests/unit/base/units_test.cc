// Times and sizes for people: three digits everywhere, also where rounding moves to the next unit.
#include "hunch/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace hunch::base {
namespace {

TEST(Units, Times) {
  EXPECT_EQ(format_ns(0), "0 ns");
  EXPECT_EQ(format_ns(999), "999 ns");
  EXPECT_EQ(format_ns(1000), "1.00 us");
  EXPECT_EQ(format_ns(96'400), "96.4 us");
  EXPECT_EQ(format_ns(9'994), "9.99 us");
  EXPECT_EQ(format_ns(9'996), "10.0 us");
  EXPECT_EQ(format_ns(99'960), "100 us");
  EXPECT_EQ(format_ns(999'499), "999 us");
  EXPECT_EQ(format_ns(999'500), "1.00 ms");
  EXPECT_EQ(format_ns(1'064'000), "1.06 ms");
  EXPECT_EQ(format_ns(2'614'000'000), "2.61 s");
  EXPECT_EQ(format_ns(4'000'000'000'000), "4000 s");
  EXPECT_EQ(format_ns(-1'500), "-1.50 us");
}

TEST(Units, Sizes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(268'435'456), "256 MiB");
  EXPECT_EQ(format_bytes(1'048'575), "1.00 MiB");
  EXPECT_EQ(format_bytes(int64_t{141} << 30), "141 GiB");
  EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
}

TEST(Units, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1063), "1,063");
  EXPECT_EQ(format_count(-1'234'567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
  EXPECT_EQ(format_count(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Units, ParseTimes) {
  EXPECT_EQ(parse_ns("2 ms").value(), 2'000'000);
  EXPECT_EQ(parse_ns("200us").value(), 200'000);
  EXPECT_EQ(parse_ns(" 1.5 s ").value(), 1'500'000'000);
  EXPECT_EQ(parse_ns("96 ns").value(), 96);
  EXPECT_EQ(parse_ns("0.3 us").value(), 300);
  for (const auto* bad : {"", "2", "ms", "2 minutes", "2 ms 3", "1..5 ms", "2 MS"}) {
    const auto result = parse_ns(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::usage);
    EXPECT_FALSE(result.error().remedy.empty());
  }
}

}  // namespace
}  // namespace hunch::base
