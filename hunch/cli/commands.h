// The table of verbs.
#pragma once

#include <span>
#include <string_view>

#include "hunch/cli/command.h"

namespace hunch::cli {

std::span<const Command* const> commands();  // in the order of help
const Command* find_command(std::string_view name);

// "unknown verb 'explian' (did you mean 'explain'?)"
base::Error unknown_verb(std::string_view name);

// The one error line, on standard error.
void tell(const base::Error& error);

// Runs a whole command line, without the program's name. Returns the exit status; the one error line is
// printed.
int run_command_line(const std::vector<std::string>& words);

}  // namespace hunch::cli
