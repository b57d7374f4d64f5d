// UTF-8 as terminals and JSON need it: decoding that never fails, and the columns that a text takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hunch::report {

struct CodePoint {
  char32_t value = 0;      // U+FFFD where the bytes are not UTF-8
  std::size_t length = 1;  // bytes taken, at least 1
  bool valid = true;
};

// The code point at `at` (< text.size()). Overlong forms, surrogates and cut sequences are invalid and take
// one byte.
CodePoint decode(std::string_view text, std::size_t at);

// Columns in a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
int columns_of(char32_t value);
std::size_t display_width(std::string_view text);

// Fit for a terminal: control characters and bytes that are not UTF-8 become visible ("\x1b", U+FFFD), so
// that no name in a trace can move the cursor; line ends and tabs become blanks.
std::string printable(std::string_view text);

}  // namespace hunch::report
