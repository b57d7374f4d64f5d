// The words of help, made from the table of verbs.
#pragma once

#include <string>

#include "hunch/cli/command.h"

namespace hunch::cli {

std::string general_help();
std::string verb_help(const Command& command);
std::string version_line();  // "hunch 0.1.0"

}  // namespace hunch::cli
