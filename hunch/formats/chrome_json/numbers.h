// Numbers straight from their decimal text. Times become integer nanoseconds without a double between:
// "5204627728102.090" microseconds is 5204627728102090 ns, to the last digit.
//
// In:  the raw token of a JSON value: a number, or a string that holds one ("12.5", some writers do that).
// Out: the value, or nothing where the text is no number or does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hunch/base/clock.h"

namespace hunch::formats::chrome_json {

// Microseconds to nanoseconds; any number of digits, exponents; half a nanosecond rounds away from zero.
std::optional<base::Ns> parse_time(std::string_view token);

// Whole numbers; a fraction of zeros ("7.0") is whole.
std::optional<int64_t> parse_signed(std::string_view token);
std::optional<uint64_t> parse_unsigned(std::string_view token);

// For occupancies and the like, where a double is right.
std::optional<double> parse_real(std::string_view token);

}  // namespace hunch::formats::chrome_json
