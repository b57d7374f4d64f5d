// Appending JSON, by hand because it is a handful of lines and most of the writer's time.
// In:  a string to append to, and a value. Out: the value's JSON behind it.
// Holds: no double stands between a time and its text. simdjson judges texts that claim to be JSON already.
#include "hunch/formats/chrome_json/json_text.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "hunch/formats/chrome_json/text.h"

namespace hunch::formats::chrome_json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The letter after the backslash for characters that have one, 'u' for other control characters, else 0.
constexpr auto kEscapes = [] {
  std::array<char, 256> table = {};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['"'] = '"';
  table['\\'] = '\\';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  return table;
}();

template <class Number>
void append_number(std::string& out, Number value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t from = 0;  // start of what can be copied as it is
  std::size_t at = 0;
  const auto copy_up_to_here = [&] { out.append(text, from, at - from); };
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      const char escape = kEscapes[byte];
      if (escape != 0) {
        copy_up_to_here();
        out += '\\';
        out += escape;
        if (escape == 'u') fmt::format_to(std::back_inserter(out), "{:04x}", byte);
        from = at + 1;
      }
      ++at;
    } else if (const std::size_t length = utf8_length(text.substr(at)); length > 0) {
      at += length;
    } else {
      copy_up_to_here();
      out += kReplacement;
      from = ++at;
    }
  }
  copy_up_to_here();
  out += '"';
}

void append_int(std::string& out, int64_t value) { append_number(out, value); }
void append_uint(std::string& out, uint64_t value) { append_number(out, value); }

void append_time(std::string& out, base::Ns time) {
  auto magnitude = static_cast<uint64_t>(time);
  if (time < 0) {
    out += '-';
    magnitude = 0 - magnitude;
  }
  append_number(out, magnitude / 1000);
  const auto rest = static_cast<unsigned>(magnitude % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
}

std::optional<int64_t> plain_integer(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::string_view digits = text.substr(sign);
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  if (digits.front() == '0' && (digits.size() > 1 || sign == 1)) return std::nullopt;
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ptr != text.data() + text.size() || end.ec != std::errc()) return std::nullopt;
  return value;
}

void append_id(std::string& out, std::string_view text) {
  if (plain_integer(text))
    out += text;
  else
    append_string(out, text);
}

bool is_writable(float value) { return std::isfinite(value); }
void append_float(std::string& out, float value) { append_number(out, value); }
void append_double(std::string& out, double value) { append_number(out, value); }

bool is_json_list(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  const simdjson::padded_string padded(text);
  return parser.parse(padded).get(element) == simdjson::SUCCESS && element.is_array();
}

}  // namespace hunch::formats::chrome_json
