// Names and sizes of element types, and f16, whose narrower exponent needs more than a shift. The hardware's
// instructions give the same bits (convert.cc uses them); these are for single values and for machines
// without them.
#include "hunch/tensor/dtype.h"

#include "hunch/base/check.h"

namespace hunch::tensor {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::boolean:
      return 1;
  }
  HUNCH_CHECK(false, "no such dtype");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::boolean:
      return "bool";
  }
  HUNCH_CHECK(false, "no such dtype");
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::boolean})
    if (name == name_of(dtype)) return dtype;
  return std::nullopt;
}

float float_of_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1FU;
  const uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0x1F) {
    const uint32_t quiet = mantissa != 0 ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7F800000U | quiet | (mantissa << 13));
  }
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float size = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(size));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t f16_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U | ((size >> 13) & 0x3FFU));
  if (size >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 and above round to infinity
  if (size < 0x38800000U) {  // below 2^-14: adding 0.5 aligns 2^-24 with float's last bit, and rounds there
    const auto aligned = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5F);
    return static_cast<uint16_t>(sign | (aligned - 0x3F000000U));
  }
  const uint32_t rounded = size + 0xFFFU + ((size >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

}  // namespace hunch::tensor
