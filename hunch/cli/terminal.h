// What the terminal offers: its width, colours, characters.
#pragma once

#include <string_view>

#include "hunch/base/result.h"

namespace hunch::cli {

enum class ColorMode { automatic, always, never };
base::Result<ColorMode> parse_color(std::string_view text);

// With `automatic`: standard output is a terminal and gets the result, NO_COLOR is unset or empty, TERM is
// not "dumb".
bool use_color(ColorMode mode, bool to_stdout);

// Columns: COLUMNS where it is a number, else the terminal's width, else 100; from 40 to 200.
int output_width(bool to_stdout);

bool unicode_terminal();  // the locale's encoding is UTF-8
bool stderr_is_terminal();

}  // namespace hunch::cli
