// The small language of the name tables, so that what is known about names stays data.
//
// A pattern is clauses separated by blanks, all of which must hold; a clause is alternatives separated by
// '|', one of which must. An alternative is a text that the name contains; "^text" at its start, "text$" at
// its end, "=text" all of it, "~text" one of its words (split at '_' and at changes of case). "!" before a
// clause turns it around. All in lower case; '.' stands for a blank.
#pragma once

#include <string_view>

#include "hunch/analysis/names/parsed_name.h"

namespace hunch::analysis::names {

// Where a pattern looks.
enum class Part { raw, full, qualified, base };

bool matches(std::string_view pattern, Part part, const ParsedName& name);

}  // namespace hunch::analysis::names
