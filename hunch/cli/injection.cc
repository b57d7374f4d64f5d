#include "hunch/cli/injection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "hunch/base/shared_library.h"

namespace hunch::cli {

base::Result<std::string> find_injection() {
  const char* const given = std::getenv("HUNCH_INJECTION");
  const bool is_given = given != nullptr && *given != '\0';
  const std::string found = is_given ? given : base::find_plugin("libhunch_inject.so");
  if (is_given && ::access(found.c_str(), R_OK) != 0)
    return base::fail(base::Error{base::ErrorCode::environment,
                                  fmt::format("HUNCH_INJECTION: cannot read it: {}", std::strerror(errno)),
                                  found,
                                  {},
                                  "the path of libhunch_inject.so, or leave it unset"});
  if (found.empty())
    return base::fail(base::ErrorCode::environment,
                      HUNCH_HAS_CUDA
                          ? "libhunch_inject.so is neither beside the program nor in its ../lib/hunch"
                          : "this build has no CUDA, so nothing that could record a CUDA program",
                      HUNCH_HAS_CUDA ? "install hunch as a whole, or set HUNCH_INJECTION to the library"
                                     : "a build with CUDA: CMake finds nvcc, or -DHUNCH_CUDA=ON");
  char* const whole = ::realpath(found.c_str(), nullptr);
  if (whole == nullptr) return found;
  std::string path = whole;
  std::free(whole);
  return path;
}

}  // namespace hunch::cli
