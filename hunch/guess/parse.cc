// Parsing guesses: TOML by toml++, words by hand. Every expectation is checked here, metric and value, so
// that a typo is an error with its place before any trace is looked at.
#include <fmt/format.h>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

#include "hunch/analysis/attention_ops.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/guess/guess.h"
#include "hunch/guess/metrics.h"

namespace hunch::guess {
namespace {

using base::Error;
using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

Error at(std::string message, const std::string& name, std::optional<uint64_t> byte, std::string remedy) {
  return Error{ErrorCode::parse, std::move(message), name, byte, std::move(remedy)};
}

std::vector<std::string_view> metric_names() {
  std::vector<std::string_view> names;
  for (const auto& metric : metrics()) names.push_back(metric.name);
  return names;
}

std::string metric_remedy(std::string_view word) { return base::did_you_mean(word, metric_names()); }

// What the metric's words can be at all: a word that no trace can show is a typo, and would only ever miss.
Status check_word(const Guess& guess, std::string_view metric, std::string_view value,
                  std::optional<uint64_t> byte) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"bfloat16", "bf16"}, {"float16", "f16"}, {"half", "f16"},    {"fp16", "f16"},   {"float32", "f32"},
      {"float", "f32"},     {"fp32", "f32"},    {"float64", "f64"}, {"double", "f64"}, {"fp64", "f64"}};
  for (const std::string_view part : base::split(value, '+')) {
    if (metric == "backend") {
      const auto known = analysis::known_backends();
      if (std::find(known.begin(), known.end(), part) == known.end())
        return fail(at(fmt::format("backend: '{}' is no backend of attention", part), guess.source, byte,
                       base::did_you_mean(part, known)));
    }
    if (metric != "dtype") continue;
    for (const auto& [other, name] : kTypes)
      if (part == other)
        return fail(at(fmt::format("dtype: '{}' is written {} here", part, name), guess.source, byte,
                       fmt::format("dtype={}", name)));
    if (part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string_view::npos ||
        part.empty())
      return fail(
          at(fmt::format("dtype: '{}' is no type", part), guess.source, byte, "bf16, f16, f32, fp8, ..."));
  }
  return {};
}

// Adds one expectation after checking metric and value.
Status add(Guess& guess, std::string_view range, std::string_view metric_name, std::string_view value,
           std::optional<uint64_t> byte) {
  const Metric* metric = find_metric(metric_name);
  if (metric == nullptr)
    return fail(at(fmt::format("there is no metric '{}'", metric_name), guess.source, byte,
                   metric_remedy(metric_name)));
  auto operand = parse_operand(metric->kind, value);
  if (!operand)
    return fail(at(fmt::format("{}: {}", metric_name, operand.error().message), guess.source, byte,
                   operand.error().remedy));
  if (metric->kind == ValueKind::text)
    HUNCH_RETURN_IF_ERROR(check_word(guess, metric_name, operand->text, byte));
  for (const auto& before : guess.expectations)
    if (before.range == range && before.metric == metric_name)
      return fail(
          at(fmt::format("{} is guessed twice", metric_name), guess.source, byte, "keep one of the two"));
  guess.expectations.push_back(
      {std::string(range), std::string(metric_name), std::string(base::trim(value))});
  return {};
}

// toml++ 3.3 runs into undefined behaviour on most letters beyond ASCII (its test for white space does), so
// it is shown none: a byte of such a letter is written "~C3", and "~" is written "~7E". Where TOML allows
// such letters, in strings and comments, it allows that as well; elsewhere it allows neither.
std::string hidden(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '~' || static_cast<unsigned char>(c) >= 0x80) {
      out += fmt::format("~{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string shown(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const hex = text.data() + i + 1;
    if (text[i] == '~' && i + 2 < text.size() && std::from_chars(hex, hex + 2, value, 16).ptr == hex + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Byte offset in the text that was hidden, of a 1-based line and column there.
uint64_t byte_of(std::string_view text, toml::source_position position) {
  std::size_t offset = 0;
  for (toml::source_index line = 1; line < position.line; ++line) {
    const auto end = text.find('\n', offset);
    if (end == std::string_view::npos) break;
    offset = end + 1;
  }
  offset = std::min<std::size_t>(text.size(), offset + (position.column > 0 ? position.column - 1 : 0));
  const auto marks = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '~');
  return offset - std::min<std::size_t>(offset, 2 * static_cast<std::size_t>(marks));
}

// A TOML value as the text that parse_operand reads; nothing where its type says nothing here.
std::optional<std::string> value_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return shown(text->get());
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* list = node.as_array()) {
    std::string joined;
    for (const auto& element : *list) {
      const auto* text = element.as_string();
      if (text == nullptr) return std::nullopt;
      if (!joined.empty()) joined += ", ";
      joined += shown(text->get());
    }
    return joined;
  }
  return std::nullopt;
}

Status add_table(Guess& guess, std::string_view text, std::string_view range, const toml::table& table) {
  for (const auto& [key, node] : table) {
    const uint64_t byte = byte_of(text, key.source().begin);
    const std::string word = shown(key.str());
    if (const auto* inner = node.as_table()) {
      if (!range.empty())
        return fail(at(fmt::format("[forward.\"{}\"] holds another table, '{}'", range, word), guess.source,
                       byte, "write one table a range: [forward.\"name\"]"));
      HUNCH_RETURN_IF_ERROR(add_table(guess, text, word, *inner));
      continue;
    }
    const auto value = value_text(node);
    const Metric* const metric = find_metric(word);
    const bool wants_text = metric != nullptr && metric->kind == ValueKind::text;
    const bool wants_list = metric != nullptr && metric->kind == ValueKind::sequence;
    if (metric != nullptr && value && ((wants_text && !node.is_string()) || (!wants_list && node.is_array())))
      return fail(at(fmt::format("{} has a value of a kind that it cannot have", word), guess.source, byte,
                     wants_text ? "a text in quotes" : "one value: a number, a text, true or false"));
    if (!value)
      return fail(at(fmt::format("{} has a value of a kind that no metric has", word), guess.source, byte,
                     "a number, a text, true or false, or a list of texts"));
    HUNCH_RETURN_IF_ERROR(add(guess, range, word, *value, byte));
  }
  return {};
}

// One word of a --guess: key, relation and value, where it starts.
struct Word {
  std::string text;
  uint64_t byte = 0;
};

// "device_time" of "device_time<2": the unit of a number may stand apart from it.
bool is_numeric(std::string_view metric_name) {
  const Metric* const metric = find_metric(metric_name);
  return metric != nullptr && metric->kind != ValueKind::text && metric->kind != ValueKind::flag &&
         metric->kind != ValueKind::sequence;
}

// What to try for a word without a relation: the metric that it starts with, and a value for it.
std::string bare_word_remedy(std::string_view word) {
  const auto end = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  const std::string_view name = word.substr(0, end);
  const Metric* const metric = find_metric(name);
  if (metric == nullptr) return "words such as kernels=5 memcpy=0 device_time='< 2 ms'";
  const auto value = [&]() -> std::string_view {
    switch (metric->kind) {
      case ValueKind::count:
        return "=5";
      case ValueKind::time:
        return "='< 2 ms'";
      case ValueKind::bytes:
        return "='< 2 MiB'";
      case ValueKind::percent:
        return "='>= 10 %'";
      case ValueKind::flag:
        return "=true";
      case ValueKind::sequence:
        return "=matmul,softmax,matmul";
      case ValueKind::text:
        break;
    }
    return name == "dtype" ? "=bf16" : "=flash";
  }();
  return fmt::format("{}{}", name, value);
}

// Splits at blanks outside of quotes; quotes group and are dropped.
Result<std::vector<Word>> split_words(std::string_view words) {
  std::vector<Word> result;
  std::size_t i = 0;
  while (i < words.size()) {
    if (std::isspace(static_cast<unsigned char>(words[i])) != 0) {
      ++i;
      continue;
    }
    Word word;
    word.byte = i;
    while (i < words.size() && std::isspace(static_cast<unsigned char>(words[i])) == 0) {
      const char c = words[i++];
      if (c != '\'' && c != '"') {
        word.text += c;
        continue;
      }
      const auto close = words.find(c, i);
      if (close == std::string_view::npos)
        return fail(at("a quote is never closed", "--guess", i - 1, "close it, or leave both out"));
      word.text.append(words.substr(i, close - i));
      i = close + 1;
    }
    result.push_back(std::move(word));
  }
  return result;
}

}  // namespace

Result<Guess> parse_guess_toml(std::string_view text, const std::string& name) {
  Guess guess;
  guess.source = name;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    auto rest = parse_guess_toml(text.substr(3), name);
    if (!rest && rest.error().byte) *rest.error().byte += 3;
    return rest;
  }
  const std::string hidden_text = hidden(text);
  const toml::parse_result parsed = toml::parse(hidden_text, name);
  if (!parsed) {
    const auto& error = parsed.error();
    const uint64_t byte = byte_of(hidden_text, error.source().begin);
    if (byte < text.size() && static_cast<unsigned char>(text[byte]) >= 0x80)
      return fail(at("not TOML: a letter beyond ASCII outside of quotes", name, byte,
                     "put the name in quotes: [forward.\"name\"]"));
    return fail(at(fmt::format("not TOML: {}", shown(error.description())), name, byte,
                   "a table [forward] with lines such as kernels = 5"));
  }
  for (const auto& [key, node] : parsed.table()) {
    const auto* table = node.as_table();
    if (key.str() != "forward" || table == nullptr)
      return fail(at(fmt::format("'{}' is not [forward]", shown(key.str())), name,
                     byte_of(hidden_text, key.source().begin),
                     "put the guess under [forward] or [forward.\"range name\"]"));
    HUNCH_RETURN_IF_ERROR(add_table(guess, hidden_text, "", *table));
  }
  if (guess.expectations.empty())
    return fail(at("guesses nothing", name, {}, "a table [forward] with lines such as kernels = 5"));
  return guess;
}

Result<Guess> parse_guess_words(std::string_view words) {
  Guess guess;
  guess.source = "--guess";
  HUNCH_ASSIGN(const auto list, split_words(words));
  std::string range;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto& word = list[i];
    const auto relation = word.text.find_first_of("=<>");
    if (relation == std::string::npos || relation == 0)
      return fail(at(fmt::format("'{}' is not metric=value", word.text), "--guess", word.byte,
                     bare_word_remedy(word.text)));
    const std::string_view key = std::string_view(word.text).substr(0, relation);
    if (key.ends_with('!') || key.ends_with(':') || key.ends_with('~'))
      return fail(at(fmt::format("'{}': there is no relation '{}='", word.text, key.back()), "--guess",
                     word.byte + relation - 1, "=, <, <=, > or >=, or a range such as 1..3"));
    std::string value = word.text.substr(
        word.text[relation] == '=' && word.text.compare(relation, 2, "==") != 0 ? relation + 1 : relation);
    // "device_time<2 ms" without quotes: a unit that stands alone belongs to the value before it.
    if (is_numeric(key) && i + 1 < list.size() &&
        list[i + 1].text.find_first_of("=<>") == std::string::npos &&
        (list[i + 1].text == "%" || base::parse_ns("1" + list[i + 1].text) ||
         list[i + 1].text.ends_with("iB")))
      value += " " + list[++i].text;
    if (key == "range") {
      if (value.empty() || word.text[relation] != '=' || value.starts_with("=="))
        return fail(at(fmt::format("'{}' names no range", word.text), "--guess", word.byte, "range='name'"));
      if (i + 1 == list.size())
        return fail(at(fmt::format("range '{}' stands behind all metrics, and is of none", value), "--guess",
                       word.byte, "put it before the metrics that it is of"));
      range = value;
      continue;
    }
    HUNCH_RETURN_IF_ERROR(add(guess, range, key, value, word.byte));
  }
  if (guess.expectations.empty())
    return fail(at("guesses nothing", "--guess", {}, "words such as kernels=5 memcpy=0"));
  return guess;
}

}  // namespace hunch::guess
