// Small text helpers that the standard library of GCC 12 lacks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hunch::base {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
bool contains(std::string_view text, std::string_view part);

// The whole text as a number, or nothing.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// The candidate closest to `word` by edit distance, where it is close enough to be a typo; else empty.
std::string_view closest(std::string_view word, std::span<const std::string_view> candidates);
// What to try instead of `word`, one of `names`: "did you mean 'kernels'?" where one is close, else "one of
// kernels, memcpy, memset"; empty for no names.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);
// "a, b, c", and of many the first thirty and how many more.
std::string few_of(std::span<const std::string_view> names);

}  // namespace hunch::base
