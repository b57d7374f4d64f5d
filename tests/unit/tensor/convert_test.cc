// Array conversions give the bits of the scalar ones: all patterns, every length up to some vectors, every
// alignment; nothing behind the end is written.
#include "hunch/tensor/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace hunch::tensor {
namespace {

float widened(DType dtype, uint16_t bits) {
  return dtype == DType::bf16 ? float_of_bf16(bits) : float_of_f16(bits);
}
uint16_t narrowed(DType dtype, float value) {
  return dtype == DType::bf16 ? bf16_of_float(value) : f16_of_float(value);
}

TEST(Convert, AllPatternsWiden) {
  std::vector<uint16_t> all(0x10000);
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(all.size());
  for (const DType dtype : {DType::bf16, DType::f16}) {
    widen(dtype, reinterpret_cast<const std::byte*>(all.data()), 0x10000, wide.data());
    for (uint32_t i = 0; i < all.size(); ++i) {
      const float expected = widened(dtype, static_cast<uint16_t>(i));
      ASSERT_TRUE(wide[i] == expected || (std::isnan(wide[i]) && std::isnan(expected))) << i;
      ASSERT_EQ(std::signbit(wide[i]), std::signbit(expected)) << i;
    }
  }
}

TEST(Convert, RandomBitsNarrow) {
  std::mt19937 random(1);
  std::vector<float> wide(1 << 20);
  for (float& value : wide) value = std::bit_cast<float>(static_cast<uint32_t>(random()));
  // Most random floats are far outside of f16; half of them move to where it rounds and underflows.
  for (std::size_t i = 0; i < wide.size(); i += 2) {
    int exponent = 0;
    if (std::isfinite(wide[i]))
      wide[i] = std::ldexp(std::frexp(wide[i], &exponent), static_cast<int>(random() % 44) - 27);
  }
  std::vector<uint16_t> bits(wide.size());
  for (const DType dtype : {DType::bf16, DType::f16}) {
    narrow(dtype, wide.data(), static_cast<int64_t>(wide.size()), reinterpret_cast<std::byte*>(bits.data()));
    for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(bits[i], narrowed(dtype, wide[i])) << wide[i];
  }
}

TEST(Convert, EveryLengthAndOffset) {
  constexpr std::size_t kMost = 70;
  std::vector<float> values(kMost + 8);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.37F * static_cast<float>(i) - 5.0F;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::boolean}) {
    const std::size_t size = size_of(dtype);
    for (std::size_t offset = 0; offset < 8; ++offset)
      for (std::size_t count = 0; count < kMost; ++count) {
        std::vector<std::byte> packed((kMost + 9) * size, std::byte{0xAB});
        narrow(dtype, values.data() + offset, static_cast<int64_t>(count), packed.data() + offset * size);
        for (std::size_t i = 0; i < packed.size(); ++i) {
          const bool written = i >= offset * size && i < (offset + count) * size;
          ASSERT_TRUE(written || packed[i] == std::byte{0xAB});
        }
        std::vector<float> back(kMost + 9, -77.0F);
        widen(dtype, packed.data() + offset * size, static_cast<int64_t>(count), back.data() + offset);
        for (std::size_t i = 0; i < back.size(); ++i) {
          float expected = -77.0F;
          if (i >= offset && i < offset + count) {
            const float value = values[i];
            expected = dtype == DType::f32       ? value
                       : dtype == DType::boolean ? static_cast<float>(value != 0.0F)
                                                 : widened(dtype, narrowed(dtype, value));
          }
          ASSERT_EQ(back[i], expected);
        }
      }
  }
}

TEST(Convert, SaysItsTarget) { EXPECT_FALSE(simd_target().empty()); }

}  // namespace
}  // namespace hunch::tensor
