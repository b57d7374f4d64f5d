// The right-hand side of an expectation: what values of a metric it allows.
//
// In:  the metric's kind of value and a text: "5", ">= 1", "1..3", "< 2 ms", ">= 10 %", "flash", "true",
//      "matmul, mul, softmax", "< naive", each also with "==" before it. Out: an Operand, or an error that
//      says what such a text looks like.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::guess {

enum class ValueKind {
  count,     // kernels: "5", ">= 1", "1..3"
  time,      // nanoseconds: "< 2 ms", "1 ms..2 ms"; a bound, since no two runs take the same time
  bytes,     // "< 2 MiB"
  percent,   // ">= 10 %", "100 %" (to the nearest whole percent)
  text,      // "flash"
  flag,      // "true", "false"
  sequence,  // "matmul, mul, softmax"
};

enum class Relation { equal, less, less_equal, greater, greater_equal, between };

struct Operand {
  Relation relation = Relation::equal;
  double low = 0;  // the bound; `between` runs from low to high, both included
  double high = 0;
  std::string reference;              // not empty: the bound is the same metric of this range or variant
  std::string text;                   // ValueKind::text and flag
  std::vector<std::string> elements;  // ValueKind::sequence
};

base::Result<Operand> parse_operand(ValueKind kind, std::string_view text);

// Whether a number satisfies the operand; `bound` replaces low where the operand has a reference.
bool satisfies(ValueKind kind, const Operand& operand, double value, std::optional<double> bound);

// A value of this kind for people: "5", "1.06 ms", "18.75 %".
std::string format_value(ValueKind kind, double value);

}  // namespace hunch::guess
