// The guesses that hunch ships: what a newcomer to attention would write down for each variant before
// looking. Several of them are wrong on purpose; the first table a person sees shows why.
#pragma once

#include <string_view>

namespace hunch::guess {

// Words for parse_guess_words; empty for a variant without one.
std::string_view shipped_guess(std::string_view variant);

}  // namespace hunch::guess
