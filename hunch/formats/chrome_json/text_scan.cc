#include "hunch/formats/chrome_json/text_scan.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hunch::formats::chrome_json {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::size_t find(std::string_view text, std::size_t from, char c) {
  if (from >= text.size()) return kNowhere;
  const void* found = std::memchr(text.data() + from, c, text.size() - from);
  if (found == nullptr) return kNowhere;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// The last character before `at` that is no white space; 0 where there is none.
std::size_t before(std::string_view text, std::size_t at) {
  while (at > 0 && is_space(text[at - 1])) --at;
  return at == 0 ? kNowhere : at - 1;
}

}  // namespace

bool opens_event(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '{') return false;
  const std::size_t quote = skip_space(text, at + 1);
  if (quote >= text.size() || text[quote] != '"') return false;
  const std::string_view rest = text.substr(quote + 1, 6);
  const std::size_t end = rest.find('"');
  if (end == std::string_view::npos || !is_event_key(rest.substr(0, end))) return false;
  const std::size_t colon = skip_space(text, quote + 1 + end + 1);
  return colon < text.size() && text[colon] == ':';
}

bool is_event_key(std::string_view key) {
  constexpr std::array<std::string_view, 13> kKeys = {"ph", "cat",  "name", "pid", "tid", "ts",  "dur",
                                                      "id", "args", "bp",   "s",   "tts", "tdur"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return kNowhere;
}

std::size_t skip_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    switch (text[at]) {
      case '"':
        at = skip_string(text, at);
        if (at == kNowhere || depth == 0) return at;
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;  // the end of what holds a bare value
        if (--depth == 0) return at + 1;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default:
        break;
    }
    ++at;
  }
  return kNowhere;
}

std::size_t last_event_boundary(std::string_view text, std::size_t from, std::size_t to) {
  while (to > from) {
    const void* found = ::memrchr(text.data() + from, '{', to - from);
    if (found == nullptr) return kNowhere;
    to = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    if (!opens_event(text, to)) continue;
    const std::size_t comma = before(text, to);
    if (comma == kNowhere || comma <= from || text[comma] != ',') continue;
    const std::size_t brace = before(text, comma);
    if (brace != kNowhere && brace > from && text[brace] == '}') return comma;
  }
  return kNowhere;
}

std::size_t next_event_start(std::string_view text, std::size_t from) {
  for (std::size_t at = find(text, from, '{'); at != kNowhere; at = find(text, at + 1, '{')) {
    if (!opens_event(text, at)) continue;
    const std::size_t previous = before(text, at);
    if (previous != kNowhere && (text[previous] == ',' || text[previous] == '[' || text[previous] == '}'))
      return at;
  }
  return kNowhere;
}

std::size_t next_list_end(std::string_view text, std::size_t from, std::size_t to, bool top_level_array) {
  to = std::min(to, text.size());
  for (std::size_t at = find(text.substr(0, to), from, ']'); at != kNowhere;
       at = find(text.substr(0, to), at + 1, ']')) {
    const std::size_t previous = before(text, at);
    if (previous == kNowhere || text[previous] != '}') continue;
    std::size_t next = skip_space(text, at + 1);
    if (top_level_array) {
      if (next >= text.size()) return at;
      continue;
    }
    if (next >= text.size()) continue;
    if (text[next] == '}' && skip_space(text, next + 1) >= text.size()) return at;
    if (text[next] != ',') continue;
    next = skip_space(text, next + 1);
    if (next >= text.size() || text[next] != '"') continue;
    const std::size_t behind = skip_string(text, next);
    if (behind == kNowhere) continue;
    next = skip_space(text, behind);
    if (next < text.size() && text[next] == ':') return at;
  }
  return kNowhere;
}

}  // namespace hunch::formats::chrome_json
