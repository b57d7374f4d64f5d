// The few pieces of JSON that the writer writes: strings, numbers, times, and texts that are JSON already.
//
// In:  any bytes and numbers. Out: valid JSON appended to a string, always: bytes that are no UTF-8 become
// U+FFFD, numbers that JSON has no word for are refused by the caller's check (is_writable).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hunch/base/clock.h"

namespace hunch::formats::chrome_json {

void append_string(std::string& out, std::string_view text);  // with its quotes
void append_int(std::string& out, int64_t value);
void append_uint(std::string& out, uint64_t value);
void append_time(std::string& out, base::Ns time);  // microseconds with three decimals: "-1.500"

// The number that `text` is as JSON would print it, of up to 18 digits; else nothing.
std::optional<int64_t> plain_integer(std::string_view text);
void append_id(std::string& out, std::string_view text);  // bare where it is a plain integer, else a string

bool is_writable(float value);                     // finite
void append_float(std::string& out, float value);  // shortest text that reads back as the same float
void append_double(std::string& out, double value);

bool is_json_list(std::string_view text);  // the whole text is one valid list

}  // namespace hunch::formats::chrome_json
