// Arrays of elements to float and back, in the best instruction set that the machine has. Every kernel of
// the CPU device that computes in float reads and writes through these two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hunch/tensor/dtype.h"

namespace hunch::tensor {

// `count` dense elements of `dtype` at `source` to floats, exactly; booleans become 0 and 1.
void widen(DType dtype, const std::byte* source, int64_t count, float* target);

// `count` floats to dense elements of `dtype`, rounded once to nearest even; a boolean is value != 0.
void narrow(DType dtype, const float* source, int64_t count, std::byte* target);

// The SIMD target in use on this machine: "AVX2", "AVX3" (AVX-512), "NEON", ...
std::string_view simd_target();

}  // namespace hunch::tensor
