// Finding one's way in JSON text without parsing it: past white space and whole values, and to the places
// where an event may start or the list of events end. Used between events, around them, and after damage.
//
// Holds: in sound JSON, an object that opens with a quoted name is an object: inside of a string that quote
//        would have a backslash before it. So a start found backward from anywhere is a true one, but it may
//        lie deeper than an event, in its args; callers check that.
#pragma once

#include <cstddef>
#include <string_view>

namespace hunch::formats::chrome_json {

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::size_t skip_space(std::string_view text, std::size_t at);

// The offset behind the string whose opening quote is at `at`; kNowhere where the text ends first.
std::size_t skip_string(std::string_view text, std::size_t at);

// The offset behind the value at `at`, brackets balanced; kNowhere where the text ends first.
std::size_t skip_value(std::string_view text, std::size_t at);

// The last comma in (from, to) with a "}" before it and an event's first member behind it; kNowhere: none.
std::size_t last_event_boundary(std::string_view text, std::size_t from, std::size_t to);

// The first "{" at or behind `from` that looks like an event's, with a comma or bracket before it.
// Whether a "{" stands at `at`, followed by a member that events have.
bool opens_event(std::string_view text, std::size_t at);
std::size_t next_event_start(std::string_view text, std::size_t from);

// The first "]" at or behind `from` that looks like the end of the event list.
std::size_t next_list_end(std::string_view text, std::size_t from, std::size_t to, bool top_level_array);

// Whether `key` is a member that events have: ph, ts, name, args, ...
bool is_event_key(std::string_view key);

}  // namespace hunch::formats::chrome_json
