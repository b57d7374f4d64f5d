#include "hunch/formats/chrome_json/text.h"

#include <cstdint>
#include <cstring>

#include "hunch/base/utf8.h"

namespace hunch::formats::chrome_json {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hex digits at `at`, or -1.
int32_t hex4(std::string_view raw, std::size_t at) {
  if (at + 4 > raw.size()) return -1;
  int32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const int digit = hex_digit(raw[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// The character of a one-letter escape, or 0.
char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

}  // namespace

std::string_view unescape(std::string_view raw, std::string& scratch, TextRepairs& repairs) {
  const char* slash =
      raw.empty() ? nullptr : static_cast<const char*>(std::memchr(raw.data(), '\\', raw.size()));
  if (slash == nullptr) return raw;
  scratch.assign(raw.data(), slash);
  for (std::size_t at = static_cast<std::size_t>(slash - raw.data()); at < raw.size();) {
    if (raw[at] != '\\') {
      scratch += raw[at++];
      continue;
    }
    const char next = at + 1 < raw.size() ? raw[at + 1] : '\0';
    if (const char plain = simple_escape(next); plain != 0) {
      scratch += plain;
      at += 2;
      continue;
    }
    const int32_t unit = next == 'u' ? hex4(raw, at + 2) : -1;
    if (unit < 0) {
      repairs.escapes = true;
      scratch += raw[at++];
      continue;
    }
    at += 6;
    auto code = static_cast<uint32_t>(unit);
    if (code >= 0xD800 && code < 0xE000) {
      const bool pair = code < 0xDC00 && at + 1 < raw.size() && raw[at] == '\\' && raw[at + 1] == 'u';
      const int32_t low = pair ? hex4(raw, at + 2) : -1;
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<uint32_t>(low) - 0xDC00);
        at += 6;
      } else {
        code = kReplacement;
        repairs.utf8 = true;
      }
    }
    base::append_utf8(scratch, code);
  }
  return scratch;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint32_t first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;   // longer than needed
    if (first == 0xED && byte(1) >= 0xA0) return 0;  // surrogates
    return 3;
  }
  if (first >= 0xF0 && first < 0xF5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
    return 4;
  }
  return 0;
}

std::string_view compact(std::string_view text, std::string& scratch) {
  scratch.clear();
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) continue;
    if (quoted && c == '\\' && i + 1 < text.size()) scratch += text[i++];
    if (text[i] == '"' && c == '"') quoted = !quoted;
    scratch += text[i];
  }
  return scratch;
}

}  // namespace hunch::formats::chrome_json
