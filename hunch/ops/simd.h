// The inner loops of the CPU kernels, over dense runs, in the best instruction set that the machine has;
// and staging, which makes dense runs out of strided or 16-bit ones in a buffer that stays in the first
// cache. Pieces of at most kPiece elements keep it there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "hunch/tensor/convert.h"

namespace hunch::ops {

namespace simd {

void scale(const float* x, float factor, int64_t count, float* out);
void add(const float* a, const float* b, int64_t count, float* out);
// out[i] = condition[i] ? a[i] : b[i], bit for bit; T is uint8_t, uint16_t or uint32_t. `out` may be a or b.
template <class T>
void select(const uint8_t* condition, const T* a, const T* b, int64_t count, T* out);
// out[i] = x[i] == value, bit for bit.
template <class T>
void equals(const T* x, T value, int64_t count, uint8_t* out);

// The two halves of a softmax over x[0, count): the largest value (-inf for none; NaNs may be missed),
// then x[i] = exp(x[i] - shift), returning the sum. exp of a NaN is NaN.
float largest(const float* x, int64_t count);
float exp_and_sum(float* x, float shift, int64_t count);

}  // namespace simd

constexpr int64_t kPiece = 1024;

// `count` <= kPiece elements `step` bytes apart as a dense run: in place, or gathered into `scratch`.
template <class T>
const T* dense(const std::byte* source, int64_t step, int64_t count, T* scratch) {
  if (step == sizeof(T)) return reinterpret_cast<const T*>(source);
  if (step == 0) {
    std::fill_n(scratch, count, *reinterpret_cast<const T*>(source));
    return scratch;
  }
  for (int64_t i = 0; i < count; ++i) scratch[i] = *reinterpret_cast<const T*>(source + i * step);
  return scratch;
}

template <class T>
void scatter(const T* source, int64_t count, std::byte* target, int64_t step) {
  for (int64_t i = 0; i < count; ++i) *reinterpret_cast<T*>(target + i * step) = source[i];
}

// Calls body(T{}) with the unsigned type of an element's bits.
template <class Body>
void with_bits_of(tensor::DType dtype, const Body& body) {
  switch (tensor::size_of(dtype)) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    default:
      return body(uint32_t{});
  }
}

// The bits of `value` rounded to `dtype`, in the low bytes.
template <class T>
T bits_of(tensor::DType dtype, double value) {
  const auto wide = static_cast<float>(value);
  std::array<std::byte, 4> raw = {};
  tensor::narrow(dtype, &wide, 1, raw.data());
  T bits;
  std::memcpy(&bits, raw.data(), sizeof bits);
  return bits;
}

// A run of floats out of a run of any dtype, and back. At most kPiece elements at a time.
class FloatStage {
 public:
  const float* load(tensor::DType dtype, const std::byte* source, int64_t step, int64_t count) {
    if (dtype == tensor::DType::f32) return dense(source, step, count, floats_.data());
    const std::byte* packed = source;
    if (step != static_cast<int64_t>(tensor::size_of(dtype)))
      with_bits_of(dtype, [&](auto bits) {
        packed = reinterpret_cast<const std::byte*>(
            dense(source, step, count, reinterpret_cast<decltype(bits)*>(raw_.data())));
      });
    tensor::widen(dtype, packed, count, floats_.data());
    return floats_.data();
  }

  // Where to compute a run that goes to `target`: there itself where that is a dense run of f32.
  float* result(tensor::DType dtype, std::byte* target, int64_t step) {
    return dtype == tensor::DType::f32 && step == sizeof(float) ? reinterpret_cast<float*>(target)
                                                                : floats_.data();
  }
  void store(tensor::DType dtype, const float* values, int64_t count, std::byte* target, int64_t step) {
    if (reinterpret_cast<const std::byte*>(values) == target) return;
    if (step == static_cast<int64_t>(tensor::size_of(dtype)))
      return tensor::narrow(dtype, values, count, target);
    tensor::narrow(dtype, values, count, raw_.data());
    with_bits_of(dtype, [&](auto bits) {
      scatter(reinterpret_cast<const decltype(bits)*>(raw_.data()), count, target, step);
    });
  }

 private:
  alignas(64) std::array<float, kPiece> floats_;
  alignas(64) std::array<std::byte, kPiece * sizeof(float)> raw_;
};

// Cuts a run into pieces: body(offset, count).
template <class Body>
void in_pieces(int64_t count, const Body& body) {
  for (int64_t at = 0; at < count; at += kPiece) body(at, std::min(kPiece, count - at));
}

}  // namespace hunch::ops
