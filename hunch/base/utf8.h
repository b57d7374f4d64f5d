// Code points as UTF-8.
#pragma once

#include <cstdint>
#include <string>

namespace hunch::base {

// `code_point` is below 0x110000.
void append_utf8(std::string& out, uint32_t code_point);

}  // namespace hunch::base
