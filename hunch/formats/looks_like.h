// For the error about a file that no reader takes: what its first bytes say it is, and for formats that have
// no mark of their own its name.
#pragma once

#include <string_view>

namespace hunch::formats {

struct Looks {
  std::string_view kind;    // "a zip archive"
  std::string_view remedy;  // "unpack it first"
};

Looks looks_like(std::string_view first_bytes, std::string_view name);

}  // namespace hunch::formats
