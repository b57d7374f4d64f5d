// The slow path: one damaged event, read as leniently as is safe and written anew as sound JSON, so that
// the ordinary decoder can take it. Used only from a damaged event on, window by window.
//
// In:  text, and the offset of an event's "{".
// Out: sound JSON in `json` and what was repaired; or that the text ends inside of the event; or that the
//      event is damaged beyond that, with the offset where it showed.
// Repairs: invalid UTF-8, invalid escapes, raw control characters, bare quotes inside of strings, a comma too
//      many. A bare quote is told from a closing one by what follows: a closing quote is followed by the end
//      of its object, or by a comma and another member that events have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hunch::formats::chrome_json {

struct RepairCounts {
  uint64_t escapes = 0;   // strings with invalid escapes, kept as written
  uint64_t utf8 = 0;      // strings with invalid UTF-8, replaced
  uint64_t quotes = 0;    // strings with bare quotes, kept
  uint64_t controls = 0;  // strings with raw control characters, kept
};

enum class Repair { done, cut, damaged };

struct RepairResult {
  Repair outcome = Repair::damaged;
  std::size_t end = 0;      // behind the event; where the damage shows
  std::size_t scanned = 0;  // bytes looked at, all tries together
  RepairCounts counts;
};

// `allow_bare_quotes`: also try the costly reading in which quotes inside of strings may be bare.
RepairResult repair_event(std::string_view text, std::size_t start, bool allow_bare_quotes,
                          std::string& json);

}  // namespace hunch::formats::chrome_json
