// Element types and their scalar conversions. 16-bit values travel as their bits: the CPU device computes
// in float and rounds once, to nearest even, when it stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hunch::tensor {

enum class DType : uint8_t { f32, bf16, f16, boolean };  // boolean: one byte, 0 or 1

std::size_t size_of(DType dtype);            // bytes an element
std::string_view name_of(DType dtype);       // "f32", "bf16", "f16", "bool"
std::optional<DType> parse_dtype(std::string_view name);

// Exact widening, and rounding to nearest even with infinities and NaNs kept.
float float_of_bf16(uint16_t bits);
uint16_t bf16_of_float(float value);
float float_of_f16(uint16_t bits);
uint16_t f16_of_float(float value);

}  // namespace hunch::tensor
