#include "hunch/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hunch::base {

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "hunch: internal check failed: %s (%s:%d)%s%.*s\n", condition, file, line,
               message.empty() ? "" : ": ", static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace hunch::base
