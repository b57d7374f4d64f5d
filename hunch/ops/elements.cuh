// Elements on the device: how each type is stored, how it becomes a float and back (rounded once, to nearest
// even), packs of them that move in accesses of up to 16 bytes, and a division that costs a multiplication.
//
// In a kernel's name the types are float, __nv_bfloat16, __half and bool; a bool is a byte, true if not 0.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hunch/tensor/dtype.h"

namespace hunch::ops::cuda {

template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

struct None {};  // the type of an operand that an op has not

template <class T>
constexpr int kSizeOf = static_cast<int>(sizeof(T));
template <>
inline constexpr int kSizeOf<None> = 0;

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(bool x) { return x ? 1.0F : 0.0F; }

template <class T>
__device__ __forceinline__ T from_float(float x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16_rn(x);
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(x);
  else if constexpr (std::is_same_v<T, bool>)
    return x != 0.0F;
  else
    return x;
}

// kWidth elements in a row, moved by accesses of 16 bytes, or of all of them where they are fewer bytes.
template <class T, int kWidth>
struct Pack {
  static constexpr int kBytes = kWidth * kSizeOf<T>;
  static constexpr int kAccess = kBytes < 16 ? kBytes : 16;
  alignas(kAccess) Stored<T> at[kWidth];

  __device__ __forceinline__ T operator[](int i) const {
    if constexpr (std::is_same_v<T, bool>)
      return at[i] != 0;
    else
      return at[i];
  }
};
template <int kWidth>
struct Pack<None, kWidth> {
  __device__ __forceinline__ None operator[](int) const { return {}; }
};

template <int kBytes>
struct AccessOf;
template <>
struct AccessOf<1> {
  using Type = uint8_t;
};
template <>
struct AccessOf<2> {
  using Type = uint16_t;
};
template <>
struct AccessOf<4> {
  using Type = uint32_t;
};
template <>
struct AccessOf<8> {
  using Type = uint2;
};
template <>
struct AccessOf<16> {
  using Type = uint4;
};

// The pack at `from`, aligned to its access; or, of a broadcast operand, one element for all of it.
template <class T, int kWidth>
__device__ __forceinline__ void load(Pack<T, kWidth>& pack, const std::byte* from, bool broadcast = false) {
  if constexpr (!std::is_same_v<T, None>) {
    using Access = typename AccessOf<Pack<T, kWidth>::kAccess>::Type;
    constexpr int kCount = Pack<T, kWidth>::kBytes / Pack<T, kWidth>::kAccess;
    if (kWidth > 1 && broadcast) {
      const Stored<T> one = *reinterpret_cast<const Stored<T>*>(from);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) pack.at[i] = one;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        reinterpret_cast<Access*>(pack.at)[i] = reinterpret_cast<const Access*>(from)[i];
    }
  }
}

template <class T, int kWidth>
__device__ __forceinline__ void store(const Pack<T, kWidth>& pack, std::byte* to) {
  using Access = typename AccessOf<Pack<T, kWidth>::kAccess>::Type;
  constexpr int kCount = Pack<T, kWidth>::kBytes / Pack<T, kWidth>::kAccess;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    reinterpret_cast<Access*>(to)[i] = reinterpret_cast<const Access*>(pack.at)[i];
}

// n / divisor for n and divisor below 2^31, by a multiplication: q = (n + hi(n * magic)) >> shift, where
// 2^(32 + shift) / divisor is rounded up to 2^32 + magic.
struct FastDivisor {
  uint32_t divisor = 1, magic = 0, shift = 0;

  FastDivisor() = default;
  explicit FastDivisor(int64_t size) : divisor(static_cast<uint32_t>(size)) {
    while ((uint64_t{1} << shift) < divisor) ++shift;
    const uint64_t power = uint64_t{1} << shift;
    magic = static_cast<uint32_t>(((power - divisor) << 32) / divisor + (power == divisor ? 0 : 1));
  }
  __device__ __forceinline__ uint32_t divide(uint32_t n) const { return (n + __umulhi(n, magic)) >> shift; }
};

// Calls body(T{}) with the element type of `dtype`, on the host.
template <class Body>
void with_float_type(tensor::DType dtype, const Body& body) {
  switch (dtype) {
    case tensor::DType::f32:
      return body(float{});
    case tensor::DType::bf16:
      return body(__nv_bfloat16{});
    default:
      return body(__half{});
  }
}
template <class Body>
void with_type(tensor::DType dtype, const Body& body) {
  if (dtype == tensor::DType::boolean) return body(bool{});
  with_float_type(dtype, body);
}
// With the unsigned type of an element's bits.
template <class Body>
void with_bits(tensor::DType dtype, const Body& body) {
  switch (tensor::size_of(dtype)) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    default:
      return body(uint32_t{});
  }
}

}  // namespace hunch::ops::cuda
