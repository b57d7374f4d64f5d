// A batch of problems: one JSON object a line, the fields of the report's "problem", and "enable",
// "deterministic", "torch", "arch", "cudnn" where a line has its own. In: a file or standard input. Out:
// questions in order. Holds: a field that is unknown is an error with its line, not left aside.
#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <fstream>
#include <iostream>
#include <iterator>

#include "hunch/base/strings.h"
#include "hunch/cli/device_option.h"
#include "hunch/cli/why_options.h"

namespace hunch::cli {
namespace {

using base::ErrorCode;
using base::Result;
using base::Status;
using Element = simdjson::dom::element;

constexpr std::array<std::string_view, 26> kFields = {
    "batch",         "heads",  "kv_heads",      "length",      "kv_length",     "head_dim",   "value_dim",
    "dtype",         "mask",   "gqa",           "dropout",     "grad",          "mask_shape", "mask_strides",
    "mask_grad",     "nested", "query_strides", "key_strides", "value_strides", "enable",     "priority",
    "deterministic", "torch",  "arch",          "cudnn",       "scale"};

Status wrong(std::string_view field, std::string_view expected) {
  return base::fail(ErrorCode::usage, fmt::format("\"{}\" is not {}", field, expected));
}

Status take(Element value, std::string_view field, int64_t& out) {
  if (value.get_int64().get(out) != simdjson::SUCCESS) return wrong(field, "a whole number");
  return {};
}
Status take(Element value, std::string_view field, bool& out) {
  if (value.get_bool().get(out) != simdjson::SUCCESS) return wrong(field, "true or false");
  return {};
}
Status take(Element value, std::string_view field, std::string_view& out) {
  if (value.get_string().get(out) != simdjson::SUCCESS) return wrong(field, "text");
  return {};
}
Status take(Element value, std::string_view field, std::vector<int64_t>& out) {
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return wrong(field, "a list of whole numbers");
  out.clear();
  for (const Element one : array) {
    int64_t number = 0;
    HUNCH_RETURN_IF_ERROR(take(one, field, number));
    out.push_back(number);
  }
  return {};
}
Status take(Element value, std::string_view field, std::optional<sdpa::Strides>& out) {
  std::vector<int64_t> numbers;
  HUNCH_RETURN_IF_ERROR(take(value, field, numbers));
  if (numbers.size() != 4) return wrong(field, "a list of 4 whole numbers");
  out = sdpa::Strides{numbers[0], numbers[1], numbers[2], numbers[3]};
  return {};
}
Status take(Element value, std::string_view field, std::vector<sdpa::Backend>& out) {
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return wrong(field, "a list of backends");
  out.clear();
  for (const Element one : array) {
    std::string_view name;
    HUNCH_RETURN_IF_ERROR(take(one, field, name));
    HUNCH_ASSIGN(const auto backends, sdpa::parse_backends(name));
    out.insert(out.end(), backends.begin(), backends.end());
  }
  return {};
}

Status set(WhyQuestion& question, std::string_view key, Element value) {
  sdpa::Problem& p = question.problem;
  sdpa::Setup& setup = question.setup;
  std::string_view text;
  const std::pair<std::string_view, int64_t*> sizes[] = {
      {"batch", &p.batch},        {"heads", &p.heads},         {"kv_heads", &p.kv_heads},
      {"length", &p.length},      {"kv_length", &p.kv_length}, {"head_dim", &p.head_dim},
      {"value_dim", &p.value_dim}};
  for (const auto& [name, size] : sizes)
    if (key == name) return take(value, key, *size);
  if (key == "grad") return take(value, key, p.grad);
  if (key == "mask_grad") return take(value, key, p.mask_grad);
  if (key == "nested") return take(value, key, p.nested);
  if (key == "deterministic") return take(value, key, setup.deterministic);
  if (key == "mask_shape") return take(value, key, p.mask_shape);
  if (key == "mask_strides") return take(value, key, p.mask_strides);
  if (key == "query_strides") return take(value, key, p.query_strides);
  if (key == "key_strides") return take(value, key, p.key_strides);
  if (key == "value_strides") return take(value, key, p.value_strides);
  if (key == "enable") return take(value, key, setup.enabled);
  if (key == "priority") return take(value, key, setup.priority);
  if (key == "scale") return {};  // no backend looks at it
  if (key == "gqa") {
    bool on = false;
    HUNCH_RETURN_IF_ERROR(take(value, key, on));
    p.gqa = on;
    return {};
  }
  if (key == "dropout") {
    if (value.get_double().get(p.dropout) != simdjson::SUCCESS) return wrong(key, "a number");
    return {};
  }
  if (key == "dtype" || key == "mask" || key == "torch" || key == "arch" || key == "cudnn") {
    HUNCH_RETURN_IF_ERROR(take(value, key, text));
    if (key == "torch") return sdpa::set_torch(setup, text);
    if (key == "arch") {
      HUNCH_ASSIGN(setup.sm, sdpa::parse_arch(text));
      return {};
    }
    if (key == "cudnn") {
      HUNCH_ASSIGN(setup.cudnn, sdpa::parse_cudnn(text));
      return {};
    }
    if (key == "dtype") {
      const auto dtype = sdpa::parse_dtype(text);
      if (!dtype) return wrong(key, "bf16, f16, f32 or f64");
      p.dtype = *dtype;
      return {};
    }
    const auto mask = sdpa::parse_mask(text);
    if (!mask) return wrong(key, "none, causal, bool or float");
    p.mask = *mask;
    return {};
  }
  return base::fail(ErrorCode::usage, fmt::format("unknown field \"{}\"", key),
                    base::did_you_mean(key, kFields));
}

Status read_line(simdjson::dom::parser& parser, const std::string& line, WhyQuestion& question) {
  Element element;
  simdjson::dom::object object;
  if (parser.parse(line).get(element) != simdjson::SUCCESS ||
      element.get_object().get(object) != simdjson::SUCCESS)
    return base::fail(ErrorCode::parse, "not a JSON object",
                      R"({"batch": 8, "heads": 16, "length": 1024, "head_dim": 64})");
  bool has[4] = {};  // kv_heads, kv_length, value_dim; a torch without a cudnn of its own
  bool has_torch = false;
  for (const auto field : object) {
    const std::string_view key = field.key;
    HUNCH_RETURN_IF_ERROR(set(question, key, field.value));
    has[0] = has[0] || key == "kv_heads";
    has[1] = has[1] || key == "kv_length";
    has[2] = has[2] || key == "value_dim";
    has[3] = has[3] || key == "cudnn";
    has_torch = has_torch || key == "torch";
  }
  sdpa::Problem& p = question.problem;
  if (!has[0]) p.kv_heads = p.heads;
  if (!has[1]) p.kv_length = p.length;
  if (!has[2]) p.value_dim = p.head_dim;
  if (has_torch && !has[3]) question.setup.cudnn = sdpa::bundled_cudnn(question.setup.torch);
  return sdpa::validate(p);
}

}  // namespace

Result<std::vector<WhyQuestion>> why_questions(const std::string& path, const sdpa::Setup& setup) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file)
      return base::fail(
          base::Error{ErrorCode::not_found, "cannot be read", path, {}, "a file of JSON lines, or -"});
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::vector<WhyQuestion> questions;
  simdjson::dom::parser parser;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (base::trim(line).empty()) continue;
    WhyQuestion question;
    question.setup = setup;
    if (auto read = read_line(parser, line, question); !read) {
      base::Error error = named(read.error(), fmt::format("line {}", number));
      error.file = path == "-" ? "standard input" : path;
      return base::fail(std::move(error));
    }
    questions.push_back(std::move(question));
  }
  if (questions.empty())
    return base::fail(base::Error{ErrorCode::parse,
                                  "no problem in it",
                                  path == "-" ? "standard input" : path,
                                  {},
                                  "a JSON object a line"});
  return questions;
}

}  // namespace hunch::cli
