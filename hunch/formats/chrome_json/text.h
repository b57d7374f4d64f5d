// JSON strings to plain text, with the leniency that real traces need: an invalid escape (a Windows path
// written raw, "torch\cuda") stays as it stands, broken UTF-8 and lone surrogates become U+FFFD.
//
// In:  the inside of a JSON string, without its quotes.
// Out: UTF-8 text, and whether something had to be repaired.
#pragma once

#include <string>
#include <string_view>

namespace hunch::formats::chrome_json {

struct TextRepairs {
  bool escapes = false;  // an escape that JSON does not know was kept literally
  bool utf8 = false;     // bytes that are no UTF-8, or half a surrogate pair, were replaced
};

// The text of `raw`: `raw` itself where it has no backslash, else unescaped into `scratch`.
// `raw` must be valid UTF-8.
std::string_view unescape(std::string_view raw, std::string& scratch, TextRepairs& repairs);

// Length of the valid UTF-8 sequence at the start of `text`; 0 where there is none.
std::size_t utf8_length(std::string_view text);

// `text` without white space outside of strings: "[[8, 16], []]" becomes "[[8,16],[]]".
std::string_view compact(std::string_view text, std::string& scratch);

}  // namespace hunch::formats::chrome_json
