#include "hunch/guess/operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::guess {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

std::string_view example(ValueKind kind) {
  switch (kind) {
    case ValueKind::count:
      return "5, \">= 1\" or \"1..3\"";
    case ValueKind::time:
      return "\"< 2 ms\" or \"1 ms..2 ms\"";
    case ValueKind::bytes:
      return "\"< 2 MiB\"";
    case ValueKind::percent:
      return "\">= 10 %\"";
    case ValueKind::text:
      return "\"flash\"";
    case ValueKind::flag:
      return "true or false";
    case ValueKind::sequence:
      return "[\"matmul\", \"softmax\", \"matmul\"]";
  }
  return {};
}

tl::unexpected<base::Error> bad(ValueKind kind, std::string_view text, std::string_view why) {
  return fail(ErrorCode::usage, fmt::format("'{}' {}", text, why), fmt::format("{}", example(kind)));
}

// "2 MiB", "1.5GB", "512" to bytes.
std::optional<double> parse_bytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"KiB", 0x1p10},
                                                                           {"MiB", 0x1p20},
                                                                           {"GiB", 0x1p30},
                                                                           {"TiB", 0x1p40},
                                                                           {"kB", 1e3},
                                                                           {"KB", 1e3},
                                                                           {"MB", 1e6},
                                                                           {"GB", 1e9},
                                                                           {"TB", 1e12},
                                                                           {"B", 1.0}}};
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = base::parse_double(base::trim(text.substr(0, text.size() - unit.size())));
    if (number) return *number * factor;
  }
  return base::parse_double(text);
}

std::optional<double> finite(std::optional<double> number) {
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// One number of the kind, without a relation.
std::optional<double> parse_number(ValueKind kind, std::string_view text) {
  const std::string_view trimmed = base::trim(text);
  switch (kind) {
    case ValueKind::count:
      if (const auto whole = base::parse_int(trimmed)) return static_cast<double>(*whole);
      return std::nullopt;
    case ValueKind::time:
      if (const auto ns = base::parse_ns(trimmed)) return static_cast<double>(*ns);
      return std::nullopt;
    case ValueKind::bytes:
      return finite(parse_bytes(trimmed));
    case ValueKind::percent:
      if (!trimmed.ends_with('%')) return finite(base::parse_double(trimmed));
      return finite(base::parse_double(base::trim(trimmed.substr(0, trimmed.size() - 1))));
    default:
      return std::nullopt;
  }
}

bool looks_like_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  if (text.front() == '.' || base::contains(text, "..")) return false;  // "torch.flash" is a name
  if (base::parse_double(text)) return false;                           // "inf" and "nan" are none
  return text.find_first_of("<>=+-%") == std::string_view::npos;
}

Result<Operand> parse_numeric(ValueKind kind, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Relation>, 5> kRelations = {
      {{"<=", Relation::less_equal},
       {">=", Relation::greater_equal},
       {"==", Relation::equal},
       {"<", Relation::less},
       {">", Relation::greater}}};
  Operand operand;
  std::string_view rest = text;
  bool has_relation = false;
  for (const auto& [sign, relation] : kRelations) {
    if (!rest.starts_with(sign)) continue;
    operand.relation = relation;
    rest = base::trim(rest.substr(sign.size()));
    has_relation = true;
    break;
  }
  if (const auto dots = rest.find(".."); dots != std::string_view::npos && !has_relation) {
    const auto low = parse_number(kind, rest.substr(0, dots));
    const auto high = parse_number(kind, rest.substr(dots + 2));
    if (!low || !high) return bad(kind, text, "is not a range of two values");
    if (*low < 0) return bad(kind, text, "is negative");
    if (kind == ValueKind::percent && *high > 100) return bad(kind, text, "is above 100 %");
    if (*low > *high) return bad(kind, text, "is a range that ends before it starts");
    operand.relation = Relation::between;
    operand.low = *low;
    operand.high = *high;
    return operand;
  }
  if (const auto value = parse_number(kind, rest)) {
    if (kind == ValueKind::time && operand.relation == Relation::equal)
      return bad(kind, text, "asks for one exact time, which no run repeats");
    if (*value < 0) return bad(kind, text, "is negative");
    if (kind == ValueKind::percent && *value > 100) return bad(kind, text, "is above 100 %");
    operand.low = *value;
    return operand;
  }
  if (has_relation && looks_like_name(rest)) {
    operand.reference = std::string(rest);
    return operand;
  }
  return bad(kind, text,
             kind == ValueKind::time ? "is not a time with a unit" : "is not a value that this metric has");
}

}  // namespace

Result<Operand> parse_operand(ValueKind kind, std::string_view text) {
  std::string_view trimmed = base::trim(text);
  const bool is_word = kind == ValueKind::text || kind == ValueKind::flag || kind == ValueKind::sequence;
  if (is_word && trimmed.starts_with("==")) trimmed = base::trim(trimmed.substr(2));
  if (trimmed.empty()) return bad(kind, text, "says nothing");
  if (is_word && trimmed.find_first_of("<>=!") == 0)
    return bad(kind, text, "has a relation, and this metric is only ever equal to something");
  Operand operand;
  switch (kind) {
    case ValueKind::text: {  // several, joined in order, as a trace's are: "math+flash" is "flash+math"
      std::vector<std::string> parts;
      for (const auto part : base::split(trimmed, '+')) parts.emplace_back(base::trim(part));
      std::sort(parts.begin(), parts.end());
      operand.text = base::join(parts, "+");
      return operand;
    }
    case ValueKind::flag:
      if (trimmed != "true" && trimmed != "false") return bad(kind, text, "is neither true nor false");
      operand.text = std::string(trimmed);
      return operand;
    case ValueKind::sequence:
      for (const auto part : base::split(trimmed, ',')) {
        const auto element = base::trim(part);
        if (element.empty()) return bad(kind, text, "has an empty element");
        operand.elements.emplace_back(element);
      }
      return operand;
    default:
      return parse_numeric(kind, trimmed);
  }
}

bool satisfies(ValueKind kind, const Operand& operand, double value, std::optional<double> bound) {
  const double limit = operand.reference.empty() ? operand.low : bound.value_or(std::nan(""));
  switch (operand.relation) {
    // A percentage is written to the whole percent; counts and bytes are exact.
    case Relation::equal:
      return kind == ValueKind::percent ? std::fabs(value - limit) < 0.5 : value == limit;
    case Relation::less:
      return value < limit;
    case Relation::less_equal:
      return value <= limit;
    case Relation::greater:
      return value > limit;
    case Relation::greater_equal:
      return value >= limit;
    case Relation::between:
      return value >= operand.low && value <= operand.high;
  }
  return false;
}

std::string format_value(ValueKind kind, double value) {
  switch (kind) {
    case ValueKind::time:
      return base::format_ns(static_cast<base::Ns>(std::llround(value)));
    case ValueKind::bytes:
      return base::format_bytes(std::llround(value));
    case ValueKind::percent:
      return fmt::format("{:.4g} %", value);
    default:
      return base::format_count(std::llround(value));
  }
}

}  // namespace hunch::guess
