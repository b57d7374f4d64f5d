// Times and sizes for people, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hunch/base/clock.h"
#include "hunch/base/result.h"

namespace hunch::base {

// "812 ns", "96.4 us", "1.06 ms", "2.61 s": three significant digits.
std::string format_ns(Ns time);

// "0 B", "812 B", "4.00 KiB", "268 MiB" (binary units, three significant digits).
std::string format_bytes(int64_t bytes);

// "1,063": digits in groups of three.
std::string format_count(int64_t count);

// "2 ms", "200us", "1.5 s", "96 ns" to nanoseconds; error: usage, when the number or unit is missing.
Result<Ns> parse_ns(std::string_view text);

}  // namespace hunch::base
