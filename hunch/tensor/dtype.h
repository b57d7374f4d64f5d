// Element types and their scalar conversions. 16-bit values travel as their bits: the CPU device computes
// in float and rounds once, to nearest even, when it stores. convert.h has the same for whole arrays.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hunch::tensor {

enum class DType : uint8_t { f32, bf16, f16, boolean };  // boolean: one byte, 0 or 1

std::size_t size_of(DType dtype);       // bytes an element
std::string_view name_of(DType dtype);  // "f32", "bf16", "f16", "bool"
std::optional<DType> parse_dtype(std::string_view name);

// Exact widening, and rounding to nearest even with infinities and NaNs kept. A NaN comes out quiet, with
// its sign and the payload bits that fit. Inline, so that loops over them vectorise.
inline float float_of_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded);
}

float float_of_f16(uint16_t bits);
uint16_t f16_of_float(float value);

}  // namespace hunch::tensor
