// Conversions between 16 bits and float: every bit pattern, and every point where rounding turns, against
// arithmetic in double.
#include "hunch/tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace hunch::tensor {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// What the bits of a binary format mean, straight from the definition.
double meaning(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
  const int exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? std::nan("") : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1U << mantissa_bits), exponent - bias - mantissa_bits);
}

struct Format {
  int exponent_bits, mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
};
const Format kFormats[] = {{8, 7, float_of_bf16, bf16_of_float}, {5, 10, float_of_f16, f16_of_float}};

TEST(DType, EveryPatternMeansWhatItSaysAndComesBack) {
  for (const Format& format : kFormats)
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double expected = meaning(bits, format.exponent_bits, format.mantissa_bits);
      const float wide = format.widen(static_cast<uint16_t>(bits));
      const uint32_t back = format.narrow(wide);
      if (std::isnan(expected)) {  // comes back quiet, with its sign and payload
        ASSERT_TRUE(std::isnan(wide)) << bits;
        ASSERT_EQ(back, bits | (1U << (format.mantissa_bits - 1)));
        continue;
      }
      ASSERT_EQ(wide, expected) << bits;
      ASSERT_EQ(std::signbit(wide), bits >= 0x8000) << bits;
      ASSERT_EQ(back, bits);
    }
}

// Between each value and the next: just below the middle, the middle (to the even one), just above.
TEST(DType, RoundsToNearestEven) {
  for (const Format& format : kFormats)
    for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
      const uint32_t infinity = ((1U << format.exponent_bits) - 1) << format.mantissa_bits;
      for (uint32_t bits = 0; bits < infinity; ++bits) {
        const double low = meaning(bits, format.exponent_bits, format.mantissa_bits);
        // Behind the largest value the next one would be where the exponent goes on.
        const double high = bits + 1 == infinity
                                ? low + (low - meaning(bits - 1, format.exponent_bits, format.mantissa_bits))
                                : meaning(bits + 1, format.exponent_bits, format.mantissa_bits);
        const auto middle = static_cast<float>((low + high) / 2);
        ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
        const float turn = sign != 0 ? -1.0F : 1.0F;
        const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
        ASSERT_EQ(format.narrow(turn * middle), sign | even) << bits;
        ASSERT_EQ(format.narrow(turn * std::nextafterf(middle, 0.0F)), sign | bits) << bits;
        ASSERT_EQ(format.narrow(turn * std::nextafterf(middle, kInf)), sign | (bits + 1)) << bits;
      }
    }
}

TEST(DType, SpecialValues) {
  for (const Format& format : kFormats) {
    EXPECT_EQ(format.widen(format.narrow(kInf)), kInf);
    EXPECT_EQ(format.widen(format.narrow(-kInf)), -kInf);
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::numeric_limits<float>::signaling_NaN()))));
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::bit_cast<float>(0x7F800001U)))));
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::bit_cast<float>(0xFFFFFFFFU)))));
    EXPECT_EQ(format.narrow(0.0F), 0);
    EXPECT_EQ(format.narrow(-0.0F), 0x8000);
  }
  EXPECT_EQ(f16_of_float(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(bf16_of_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(f16_of_float(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(DType, NamesGoThereAndBack) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::boolean})
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_EQ(parse_dtype("bool"), DType::boolean);
  EXPECT_EQ(parse_dtype("fp32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(size_of(DType::f32), 4U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::f16), 2U);
  EXPECT_EQ(size_of(DType::boolean), 1U);
}

}  // namespace
}  // namespace hunch::tensor
