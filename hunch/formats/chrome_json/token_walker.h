// Walks the tokens of one indexed window (structural_index.h) without building anything: members of an
// object, values of an array, or past a value of any depth.
//
// In:  the window and its token offsets; behind the last one stands the window's length.
// Out: views into the window. Every step returns the index of the token behind what it passed, or kBroken
//      (the tokens are no JSON) or kOut (the window ends first).
// Holds: nothing is read outside of the window, whatever the bytes are.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace hunch::formats::chrome_json {

class TokenWalker {
 public:
  static constexpr uint32_t kBroken = UINT32_MAX;
  static constexpr uint32_t kOut = UINT32_MAX - 1;
  static bool failed(uint32_t index) { return index >= kOut; }

  TokenWalker(std::string_view window, std::span<const uint32_t> tokens)
      : base_(window.data()), offsets_(tokens.data()), count_(static_cast<uint32_t>(tokens.size())) {}

  uint32_t count() const { return count_; }
  uint32_t offset(uint32_t i) const { return offsets_[i]; }
  // The first character of token i; 0 behind the last one.
  char kind(uint32_t i) const { return i < count_ ? base_[offsets_[i]] : '\0'; }

  // A scalar's text, strings with their quotes. i < count().
  std::string_view text(uint32_t i) const { return trimmed(offsets_[i], offsets_[i + 1]); }
  // The text of the value that spans tokens [first, behind).
  std::string_view text(uint32_t first, uint32_t behind) const {
    return trimmed(offsets_[first], offsets_[behind]);
  }

  // Past the value that starts at token i.
  uint32_t skip(uint32_t i) const {
    if (i >= count_) return kOut;
    const char c = base_[offsets_[i]];
    const int bracket = c | 0x20;  // '[' and ']' become '{' and '}'
    if (bracket == '{') return skip_container(i);
    if (bracket == '}' || c == ':' || c == ',') return kBroken;
    return i + 1;
  }

  // Calls visit(key, first) for each member of the object at token i; `key` is the inside of its quotes, its
  // escapes untouched. visit returns the token behind the value, skip(first) if nothing else.
  template <class Visit>
  uint32_t members(uint32_t i, Visit&& visit) const {
    if (kind(i) != '{') return i < count_ ? kBroken : kOut;
    ++i;
    if (kind(i) == '}') return i + 1;
    while (true) {
      if (i + 2 >= count_) return kOut;
      const char* key = base_ + offsets_[i];
      const char* colon = base_ + offsets_[i + 1];
      if (*key != '"' || *colon != ':') return kBroken;
      const char* quote = colon - 1;
      while (quote > key && static_cast<uint8_t>(*quote) <= ' ') --quote;
      if (quote == key || *quote != '"') return kBroken;
      i = visit(std::string_view(key + 1, static_cast<std::size_t>(quote - key - 1)), i + 2);
      if (i >= count_) return i == kBroken ? kBroken : kOut;
      const char c = base_[offsets_[i]];
      ++i;
      if (c == '}') return i;
      if (c != ',') return kBroken;
    }
  }

  // Calls visit(first, behind) for each value of the array at token i.
  template <class Visit>
  uint32_t elements(uint32_t i, Visit&& visit) const {
    if (kind(i) != '[') return i < count_ ? kBroken : kOut;
    ++i;
    if (kind(i) == ']') return i + 1;
    while (true) {
      const uint32_t behind = skip(i);
      if (failed(behind)) return behind;
      visit(i, behind);
      if (behind >= count_) return kOut;
      const char c = base_[offsets_[behind]];
      i = behind + 1;
      if (c == ']') return i;
      if (c != ',') return kBroken;
    }
  }

 private:
  uint32_t skip_container(uint32_t i) const {
    int64_t depth = 0;
    for (; i < count_; ++i) {
      const int bracket = base_[offsets_[i]] | 0x20;
      depth += (bracket == '{') - (bracket == '}');
      if (depth == 0) return i + 1;
    }
    return kOut;
  }

  std::string_view trimmed(uint32_t from, uint32_t to) const {
    while (to > from && static_cast<uint8_t>(base_[to - 1]) <= ' ') --to;
    return {base_ + from, to - from};
  }

  const char* base_;
  const uint32_t* offsets_;
  uint32_t count_;
};

// Whether `key` is this word, for keys whose length the caller has looked at.
template <std::size_t N>
bool is(std::string_view key, const char (&word)[N]) {
  return std::memcmp(key.data(), word, N - 1) == 0;
}

// The inside of a string token, or nothing where the token is no whole string.
inline bool is_string(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"';
}
inline std::string_view inside(std::string_view string_token) {
  return string_token.substr(1, string_token.size() - 2);
}

}  // namespace hunch::formats::chrome_json
