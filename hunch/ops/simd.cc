// The inner loops. Highway compiles this file once a target and picks at run time, so a generic x86-64
// build runs at memory speed where there is AVX2 or AVX-512. Simple loops are left to the compiler, which
// vectorises them for each target; exp is Highway's. (Targets between plain x86-64 and AVX2 are left out
// to keep the build short.)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)

#include "hunch/ops/simd.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hunch/ops/simd.cc"
#include <hwy/foreach_target.h>  // first: it includes this file once a target

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

// The loops below may run in place, element onto the same element; without this the compiler would test for
// overlap and take the slow way then.
#ifndef HUNCH_SAFE_IN_PLACE
#ifdef __clang__
#define HUNCH_SAFE_IN_PLACE _Pragma("clang loop vectorize(assume_safety)")
#else
#define HUNCH_SAFE_IN_PLACE _Pragma("GCC ivdep")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace hunch::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void scale_loop(const float* x, float factor, int64_t count, float* out) {
  HUNCH_SAFE_IN_PLACE
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] * factor;
}

void add_loop(const float* a, const float* b, int64_t count, float* out) {
  HUNCH_SAFE_IN_PLACE
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

template <class T>
HWY_INLINE void select_any(const uint8_t* condition, const T* a, const T* b, int64_t count, T* out) {
  HUNCH_SAFE_IN_PLACE
  for (int64_t i = 0; i < count; ++i) {
    const T keep = static_cast<T>(-static_cast<T>(condition[i] != 0));  // all ones where a is taken
    out[i] = static_cast<T>((a[i] & keep) | (b[i] & static_cast<T>(~keep)));
  }
}
void select_8(const uint8_t* c, const uint8_t* a, const uint8_t* b, int64_t n, uint8_t* out) {
  select_any(c, a, b, n, out);
}
void select_16(const uint8_t* c, const uint16_t* a, const uint16_t* b, int64_t n, uint16_t* out) {
  select_any(c, a, b, n, out);
}
void select_32(const uint8_t* c, const uint32_t* a, const uint32_t* b, int64_t n, uint32_t* out) {
  select_any(c, a, b, n, out);
}

void equals_16(const uint16_t* x, uint16_t value, int64_t count, uint8_t* out) {
  HUNCH_SAFE_IN_PLACE
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] == value ? 1 : 0;
}
void equals_32(const uint32_t* x, uint32_t value, int64_t count, uint8_t* out) {
  HUNCH_SAFE_IN_PLACE
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] == value ? 1 : 0;
}

float largest_of(const float* x, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  float most = -std::numeric_limits<float>::infinity();
  auto most0 = hn::Set(d, most);
  auto most1 = most0;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    most0 = hn::Max(most0, hn::LoadU(d, x + i));
    most1 = hn::Max(most1, hn::LoadU(d, x + i + lanes));
  }
  most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(most0, most1)));
  for (; i < count; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// Highway's Exp gives 0 for a NaN; the formula gives NaN.
template <class D, class V>
HWY_INLINE V exp_or_nan(D d, V x) {
  return hn::IfThenElse(hn::Eq(x, x), hn::Exp(d, x), x);
}

float exp_and_sum_of(float* x, float shift, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shifts = hn::Set(d, shift);
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto e0 = exp_or_nan(d, hn::Sub(hn::LoadU(d, x + i), shifts));
    const auto e1 = exp_or_nan(d, hn::Sub(hn::LoadU(d, x + i + lanes), shifts));
    hn::StoreU(e0, d, x + i);
    hn::StoreU(e1, d, x + i + lanes);
    sum0 = hn::Add(sum0, e0);
    sum1 = hn::Add(sum1, e1);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  const hn::CappedTag<float, 1> one;
  for (; i < count; ++i) {
    x[i] = hn::GetLane(exp_or_nan(one, hn::Set(one, x[i] - shift)));
    sum += x[i];
  }
  return sum;
}

}  // namespace hunch::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hunch::ops {
namespace {

HWY_EXPORT(scale_loop);
HWY_EXPORT(add_loop);
HWY_EXPORT(select_8);
HWY_EXPORT(select_16);
HWY_EXPORT(select_32);
HWY_EXPORT(equals_16);
HWY_EXPORT(equals_32);
HWY_EXPORT(largest_of);
HWY_EXPORT(exp_and_sum_of);

}  // namespace

namespace simd {

void scale(const float* x, float factor, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(scale_loop)(x, factor, count, out);
}
void add(const float* a, const float* b, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(add_loop)(a, b, count, out);
}
template <>
void select(const uint8_t* condition, const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(select_8)(condition, a, b, count, out);
}
template <>
void select(const uint8_t* condition, const uint16_t* a, const uint16_t* b, int64_t count, uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(select_16)(condition, a, b, count, out);
}
template <>
void select(const uint8_t* condition, const uint32_t* a, const uint32_t* b, int64_t count, uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(select_32)(condition, a, b, count, out);
}
template <>
void equals(const uint16_t* x, uint16_t value, int64_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(equals_16)(x, value, count, out);
}
template <>
void equals(const uint32_t* x, uint32_t value, int64_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(equals_32)(x, value, count, out);
}
float largest(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(largest_of)(x, count); }
float exp_and_sum(float* x, float shift, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(exp_and_sum_of)(x, shift, count);
}

}  // namespace simd
}  // namespace hunch::ops
#endif
