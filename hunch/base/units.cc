#include "hunch/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "hunch/base/strings.h"

namespace hunch::base {
namespace {

// Three significant digits, without an exponent: 1.06, 96.4, 812, 1234.
std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string format_ns(Ns time) {
  const double ns = static_cast<double>(time);
  const double size = std::fabs(ns);
  if (size < 1e3) return fmt::format("{} ns", time);
  if (size < 999.5e3) return three_digits(ns / 1e3) + " us";
  if (size < 999.5e6) return three_digits(ns / 1e6) + " ms";
  return three_digits(ns / 1e9) + " s";
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (std::llabs(bytes) < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (std::fabs(value) >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string format_count(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

Result<Ns> parse_ns(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  const std::string_view whole = trim(text);
  const auto split_at = whole.find_first_not_of("0123456789.+-");
  if (split_at != std::string_view::npos) {
    const auto number = parse_double(whole.substr(0, split_at));
    const auto unit = trim(whole.substr(split_at));
    for (const auto& [name, factor] : kUnits)
      if (number && unit == name && std::fabs(*number * factor) < 1e18)  // 31 years; int64 ends at 9.2e18
        return static_cast<Ns>(std::llround(*number * factor));
  }
  return fail(ErrorCode::usage, fmt::format("'{}' is not a time", whole),
              "a number and ns, us, ms or s, such as '2 ms'");
}

}  // namespace hunch::base
