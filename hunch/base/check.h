// Checks for what can only be wrong through a bug of hunch: prints what and where, then aborts.
// For anything a user can cause, return an Error instead (result.h).
#pragma once

#include <string_view>

namespace hunch::base {

[[noreturn]] void check_failed(const char* condition, const char* file, int line, std::string_view message);

}  // namespace hunch::base

#define HUNCH_CHECK(condition, ...)                                                                 \
  do {                                                                                              \
    if (!(condition)) [[unlikely]]                                                                  \
      ::hunch::base::check_failed(#condition, __FILE__, __LINE__, ::std::string_view{__VA_ARGS__}); \
  } while (false)
