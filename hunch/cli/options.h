// From the words after a verb to its Arguments, by the verb's table of options. The one place that knows
// CLI11.
#pragma once

#include <string>
#include <vector>

#include "hunch/cli/command.h"

namespace hunch::cli {

// Every verb also takes -h/--help. Words after "--" are positionals. Errors: usage, with the option and a
// remedy.
base::Result<Arguments> parse_options(const Command& command, const std::vector<std::string>& words);

}  // namespace hunch::cli
