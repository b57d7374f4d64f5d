// The element type that a kernel's name tells: of its inputs, or of what a cast or quantization makes.
#pragma once

#include <string>
#include <string_view>

#include "hunch/analysis/kernel_names.h"
#include "hunch/analysis/names/parsed_name.h"

namespace hunch::analysis::names {

// "bf16" of "c10::BFloat16 const*", "f16" of "__half", "16-bit" of "OpaqueType<2u>"; empty: no element type.
std::string dtype_of_type(std::string_view type);

// The first element type among the words of a C++ text; numbers, indices (int) and pointers to char pass.
std::string first_type(std::string_view text);

// "bf16" of a lower-case token: "bf16", "fp16", "e4m3", ...; empty: none.
std::string dtype_of_token(std::string_view token);

std::string dtype_of(const ParsedName& name, Family family);

}  // namespace hunch::analysis::names
