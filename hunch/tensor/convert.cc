// Array conversions. Highway compiles this file once a target and picks at run time, so that a generic
// build still runs at memory speed where there is AVX2 or AVX-512. bf16 is a shift and a rounding,
// spelled out because compilers vectorise neither at -O2; f16 uses the conversion instructions where the
// target has them. (Targets between plain x86-64 and AVX2 are left out: no machine that trains models lacks
// AVX2.)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)

#include "hunch/tensor/convert.h"

#include <cstring>

#include "hunch/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hunch/tensor/convert.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hunch::tensor::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void widen_bf16(const uint16_t* HWY_RESTRICT source, int64_t count, float* HWY_RESTRICT target) {
  const hn::ScalableTag<float> wide;
  const hn::RebindToUnsigned<decltype(wide)> wide_bits;
  const hn::Rebind<uint16_t, decltype(wide)> bits;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto shifted = hn::ShiftLeft<16>(hn::PromoteTo(wide_bits, hn::LoadU(bits, source + i)));
    hn::StoreU(hn::BitCast(wide, shifted), wide, target + i);
  }
  for (; i < count; ++i) target[i] = float_of_bf16(source[i]);
}

void narrow_bf16(const float* HWY_RESTRICT source, int64_t count, uint16_t* HWY_RESTRICT target) {
  const hn::ScalableTag<float> wide;
  const hn::RebindToUnsigned<decltype(wide)> wide_bits;
  const hn::RebindToSigned<decltype(wide)> wide_signed;
  const hn::Rebind<uint16_t, decltype(wide)> bits;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(wide, source + i);
    const auto exact = hn::BitCast(wide_bits, value);
    const auto odd = hn::And(hn::ShiftRight<16>(exact), hn::Set(wide_bits, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(exact, hn::Add(odd, hn::Set(wide_bits, 0x7FFFu))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(exact), hn::Set(wide_bits, 0x40u));
    const auto kept = hn::IfThenElse(hn::RebindMask(wide_bits, hn::IsNaN(value)), quiet, rounded);
    hn::StoreU(hn::DemoteTo(bits, hn::BitCast(wide_signed, kept)), bits, target + i);
  }
  for (; i < count; ++i) target[i] = bf16_of_float(source[i]);
}

#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
constexpr bool kHardwareHalf = true;
#else
constexpr bool kHardwareHalf = false;  // Highway's emulation truncates
#endif

void widen_f16(const uint16_t* HWY_RESTRICT source, int64_t count, float* HWY_RESTRICT target) {
  int64_t i = 0;
  if constexpr (kHardwareHalf) {
    const hn::ScalableTag<float> wide;
    const hn::Rebind<hwy::float16_t, decltype(wide)> half;
    const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(source);
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(hn::PromoteTo(wide, hn::LoadU(half, halves + i)), wide, target + i);
  }
  for (; i < count; ++i) target[i] = float_of_f16(source[i]);
}

void narrow_f16(const float* HWY_RESTRICT source, int64_t count, uint16_t* HWY_RESTRICT target) {
  int64_t i = 0;
  if constexpr (kHardwareHalf) {
    const hn::ScalableTag<float> wide;
    const hn::Rebind<hwy::float16_t, decltype(wide)> half;
    const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
    auto* halves = reinterpret_cast<hwy::float16_t*>(target);
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(hn::DemoteTo(half, hn::LoadU(wide, source + i)), half, halves + i);
  }
  for (; i < count; ++i) target[i] = f16_of_float(source[i]);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace hunch::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hunch::tensor {
namespace {

HWY_EXPORT(widen_bf16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(narrow_f16);
HWY_EXPORT(target_name);

}  // namespace

void widen(DType dtype, const std::byte* source, int64_t count, float* target) {
  if (count == 0) return;
  switch (dtype) {
    case DType::f32:
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::bf16:
      HWY_DYNAMIC_DISPATCH(widen_bf16)(reinterpret_cast<const uint16_t*>(source), count, target);
      return;
    case DType::f16:
      HWY_DYNAMIC_DISPATCH(widen_f16)(reinterpret_cast<const uint16_t*>(source), count, target);
      return;
    case DType::boolean:
      for (int64_t i = 0; i < count; ++i) target[i] = source[i] != std::byte{0} ? 1.0F : 0.0F;
      return;
  }
  HUNCH_CHECK(false, "no such dtype");
}

void narrow(DType dtype, const float* source, int64_t count, std::byte* target) {
  if (count == 0) return;
  switch (dtype) {
    case DType::f32:
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(float));
      return;
    case DType::bf16:
      HWY_DYNAMIC_DISPATCH(narrow_bf16)(source, count, reinterpret_cast<uint16_t*>(target));
      return;
    case DType::f16:
      HWY_DYNAMIC_DISPATCH(narrow_f16)(source, count, reinterpret_cast<uint16_t*>(target));
      return;
    case DType::boolean:
      for (int64_t i = 0; i < count; ++i) target[i] = source[i] != 0.0F ? std::byte{1} : std::byte{0};
      return;
  }
  HUNCH_CHECK(false, "no such dtype");
}

std::string_view simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace hunch::tensor
#endif
