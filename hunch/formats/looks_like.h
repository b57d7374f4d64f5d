// For the error about a file that no reader takes: what its first bytes say it is.
#pragma once

#include <string_view>

namespace hunch::formats {

struct Looks {
  std::string_view kind;    // "a zip archive"
  std::string_view remedy;  // "unpack it first"
};

Looks looks_like(std::string_view first_bytes);

}  // namespace hunch::formats
