// The library that `hunch record` has loaded into programs.
#pragma once

#include <string>

#include "hunch/base/result.h"

namespace hunch::cli {

// Its path, from the root: $HUNCH_INJECTION, or beside the program, or in ../lib/hunch of it. Error:
// environment.
base::Result<std::string> find_injection();

}  // namespace hunch::cli
