#include "hunch/formats/chrome_json/numbers.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace hunch::formats::chrome_json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_quotes(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
    while (!token.empty() && token.front() == ' ') token.remove_prefix(1);
    while (!token.empty() && token.back() == ' ') token.remove_suffix(1);
  }
  return token;
}

// A decimal text in parts: whole and fraction hold digits only.
struct Decimal {
  bool negative = false;
  std::string_view whole, fraction;
  int exponent = 0;
};

std::optional<Decimal> split_decimal(std::string_view text) {
  Decimal parts;
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(from, at - from);
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) parts.negative = text[at++] == '-';
  parts.whole = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    parts.fraction = digits();
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    bool down = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) down = text[at++] == '-';
    const auto power = digits();
    if (power.empty()) return std::nullopt;
    for (const char c : power) parts.exponent = std::min(parts.exponent * 10 + (c - '0'), 1'000'000);
    if (down) parts.exponent = -parts.exponent;
  }
  if (at != text.size()) return std::nullopt;
  return parts;
}

// The magnitude of whole.fraction * 10^shift, rounded half up; nothing where it does not fit 64 bits.
// `exact` says whether no digit other than zero was rounded.
std::optional<uint64_t> scaled(const Decimal& parts, int shift, bool& exact) {
  const auto total = static_cast<int64_t>(parts.whole.size() + parts.fraction.size());
  const auto digit = [&](int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return at < parts.whole.size() ? parts.whole[at] : parts.fraction[at - parts.whole.size()];
  };
  const int64_t keep = static_cast<int64_t>(parts.whole.size()) + shift;  // digits before the point
  uint64_t value = 0;
  bool zero = true;
  for (int64_t i = 0; i < std::min(keep, total); ++i) {
    const auto d = static_cast<uint64_t>(digit(i) - '0');
    zero = zero && d == 0;
    if (__builtin_mul_overflow(value, uint64_t{10}, &value) || __builtin_add_overflow(value, d, &value))
      return std::nullopt;
  }
  for (int64_t i = total; i < keep && !zero; ++i)
    if (__builtin_mul_overflow(value, uint64_t{10}, &value)) return std::nullopt;
  exact = true;
  for (int64_t i = std::max<int64_t>(keep, 0); i < total; ++i) exact = exact && digit(i) == '0';
  if (keep >= 0 && keep < total && digit(keep) >= '5' && __builtin_add_overflow(value, uint64_t{1}, &value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> with_sign(uint64_t magnitude, bool negative) {
  if (negative) {
    if (magnitude > uint64_t{1} << 63) return std::nullopt;
    return static_cast<int64_t>(-magnitude);
  }
  if (magnitude > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(magnitude);
}

std::optional<base::Ns> parse_time_slow(std::string_view token) {
  const auto parts = split_decimal(without_quotes(token));
  if (!parts) return std::nullopt;
  bool exact = true;
  const auto magnitude = scaled(*parts, parts->exponent + 3, exact);
  if (!magnitude) return std::nullopt;
  return with_sign(*magnitude, parts->negative);
}

// The eight bytes at `p` as a number, or -1 where one of them is no digit. Pairs are joined to pairs: three
// multiplications for eight digits.
int64_t eight_digits(const char* p) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t text;
  std::memcpy(&text, p, sizeof text);
  constexpr uint64_t kSixes = 0x0606060606060606, kHigh = 0xF0F0F0F0F0F0F0F0, kZeros = 0x3030303030303030;
  if ((text & kHigh) != kZeros || ((text + kSixes) & kHigh) != kZeros) return -1;
  text -= kZeros;
  text = text * 10 + (text >> 8);
  const uint64_t low = (text & 0x000000FF000000FF) * (100 + (uint64_t{1'000'000} << 32));
  const uint64_t high = ((text >> 16) & 0x000000FF000000FF) * (1 + (uint64_t{10'000} << 32));
  return static_cast<int64_t>((low + high) >> 32);
}

// What almost all whole numbers are: a few digits and nothing else. -1 for all other texts.
int64_t few_digits(std::string_view token) {
  if (token.empty() || token.size() > 18) return -1;
  int64_t value = 0;
  for (const char c : token) {
    if (!is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

std::optional<base::Ns> parse_time(std::string_view token) {
  // The common form: up to 15 digits, then nothing or a point and up to three digits.
  const char* p = token.data();
  const char* const end = p + token.size();
  int64_t value = 0;
  const char* const whole = p;
  if (token.size() >= 8) {
    if (const int64_t eight = eight_digits(p); eight >= 0) {
      value = eight;
      p += 8;
    }
  }
  for (; p != end && is_digit(*p); ++p) {
    if (p - whole == 15) return parse_time_slow(token);
    value = value * 10 + (*p - '0');
  }
  if (p == whole) return parse_time_slow(token);
  if (p == end) return value * 1000;
  if (*p != '.') return parse_time_slow(token);
  ++p;
  const auto places = end - p;
  if (places == 3 && is_digit(p[0]) && is_digit(p[1]) && is_digit(p[2]))
    return value * 1000 + (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
  return parse_time_slow(token);
}

std::optional<uint64_t> parse_unsigned(std::string_view token) {
  if (const int64_t few = few_digits(token); few >= 0) return static_cast<uint64_t>(few);
  uint64_t value = 0;
  if (const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
      error == std::errc() && end == token.data() + token.size())
    return value;
  const auto parts = split_decimal(without_quotes(token));
  if (!parts) return std::nullopt;
  bool exact = true;
  const auto magnitude = scaled(*parts, parts->exponent, exact);
  if (!magnitude || !exact || (parts->negative && *magnitude != 0)) return std::nullopt;
  return magnitude;
}

std::optional<int64_t> parse_signed(std::string_view token) {
  if (const int64_t few = few_digits(token); few >= 0) return few;
  int64_t value = 0;
  if (const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
      error == std::errc() && end == token.data() + token.size())
    return value;
  const auto parts = split_decimal(without_quotes(token));
  if (!parts) return std::nullopt;
  bool exact = true;
  const auto magnitude = scaled(*parts, parts->exponent, exact);
  if (!magnitude || !exact) return std::nullopt;
  return with_sign(*magnitude, parts->negative);
}

std::optional<double> parse_real(std::string_view token) {
  token = without_quotes(token);
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  if (!(value >= -1e300 && value <= 1e300)) return std::nullopt;  // inf and nan are no values here
  return value;
}

}  // namespace hunch::formats::chrome_json
