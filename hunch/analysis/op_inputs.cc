// See the header. Profilers write inputs as the text of a list, which is taken apart here.
#include "hunch/analysis/op_inputs.h"

#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

using trace::EventId;
using trace::kNone;

std::string_view detail_text(const trace::Trace& trace, EventId op, trace::StringId trace::OpDetail::*field) {
  const trace::OpDetail* detail = trace.op_detail(op);
  if (detail == nullptr || detail->*field == kNone) return {};
  return trace.strings.view(detail->*field);
}

// The outermost elements of "[[8, 16], [], [[4], [4]]]" as texts.
std::vector<std::string_view> elements_of(std::string_view list) {
  list = base::trim(list);
  std::vector<std::string_view> parts;
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') return parts;
  list = list.substr(1, list.size() - 2);
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < list.size(); ++at) {
    const char c = list[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(base::trim(list.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  const auto last = base::trim(list.substr(begin));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

std::vector<std::optional<Shape>> lists_of(std::string_view text) {
  std::vector<std::optional<Shape>> shapes;
  for (const std::string_view part : elements_of(text)) {
    Shape shape;
    bool is_shape = part.starts_with('[');
    for (const std::string_view size : elements_of(part)) {
      const auto value = base::parse_int(size);
      is_shape = is_shape && value.has_value();
      shape.push_back(value.value_or(0));
    }
    shapes.push_back(is_shape ? std::optional(shape) : std::nullopt);
  }
  return shapes;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::string_view part : elements_of(text)) {
    if (part.size() >= 2 && part.front() == '"') part = part.substr(1, part.size() - 2);
    words.emplace_back(part);
  }
  return words;
}

}  // namespace

std::vector<std::optional<Shape>> input_shapes(const trace::Trace& trace, trace::EventId op) {
  return lists_of(detail_text(trace, op, &trace::OpDetail::input_dims));
}

std::vector<std::optional<Shape>> input_strides(const trace::Trace& trace, trace::EventId op) {
  return lists_of(detail_text(trace, op, &trace::OpDetail::input_strides));
}

std::vector<std::string> input_types(const trace::Trace& trace, trace::EventId op) {
  return words_of(detail_text(trace, op, &trace::OpDetail::input_types));
}

std::vector<std::string> input_values(const trace::Trace& trace, trace::EventId op) {
  return words_of(detail_text(trace, op, &trace::OpDetail::input_values));
}

}  // namespace hunch::analysis
