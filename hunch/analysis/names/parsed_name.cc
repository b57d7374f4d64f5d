// Bracket matching over demangled C++ names, tolerant of cut names and of comparisons inside template
// arguments; mangled names go through the C++ runtime's demangler first, and where that fails their length-
// prefixed identifiers are read directly.
#include "hunch/analysis/names/parsed_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "hunch/base/strings.h"

namespace hunch::analysis::names {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// A mangled name that the demangler does not know (newer grammar, or cut): its namespaces and name, then
// every further identifier and 16-bit type as if they were template arguments.
std::string identifiers_of(std::string_view mangled) {
  std::string text;
  bool in_arguments = false;
  std::size_t at = 2;
  if (at < mangled.size() && mangled[at] == 'N') ++at;
  const auto add = [&](std::string_view part) {
    if (in_arguments) {
      text += text.ends_with('<') ? "" : ", ";
    } else if (!text.empty()) {
      text += "::";
    }
    text += part;
  };
  while (at < mangled.size()) {
    const std::string_view rest = mangled.substr(at);
    if (is_digit(mangled[at])) {
      // 'Li128E' and the end of 'LN1a4KindE0E' are numbers among the arguments, not lengths.
      const bool literal =
          at >= 2 && mangled[at - 2] == 'L' && std::islower(static_cast<unsigned char>(mangled[at - 1])) != 0;
      const std::size_t digits = at;
      std::size_t length = 0;
      while (at < mangled.size() && is_digit(mangled[at]) && length < 100000)
        length = length * 10 + (mangled[at++] - '0');
      const bool enumerator =
          digits > 0 && mangled[digits - 1] == 'E' && at < mangled.size() && mangled[at] == 'E';
      if (literal) {
        add(mangled.substr(digits, at - digits));
      } else if (!enumerator && length > 0) {
        add(mangled.substr(std::min(at, mangled.size()), length));
        at += length;
      }
    } else if (rest.starts_with("12_GLOBAL__N_1")) {
      at += 14;
    } else if (rest.starts_with("DF16b") || rest.starts_with("DF16_")) {
      if (in_arguments) add(rest[4] == 'b' ? "__bf16" : "_Float16");
      at += 5;
    } else if (rest[0] == 'S' || rest[0] == 'T') {  // back references: "S_", "S1K_", "T0_"
      std::size_t end = at + 1;
      while (end < mangled.size() &&
             (is_digit(mangled[end]) || std::isupper(static_cast<unsigned char>(mangled[end])) != 0))
        ++end;
      at = end < mangled.size() && mangled[end] == '_' ? end + 1 : at + 1;
    } else {
      if (rest[0] == 'I' && !in_arguments && !text.empty()) {
        in_arguments = true;
        text += '<';
      }
      ++at;
    }
  }
  if (in_arguments) text += '>';
  return text;
}

std::string demangle(std::string_view mangled) {
  // Types that older demanglers do not know travel as ones they do.
  std::string text(mangled);
  const bool brain_float = base::contains(text, "DF16b");
  replace_all(text, "DF16b", "g");
  replace_all(text, "DF16_", "Dh");
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> result(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !result) return identifiers_of(mangled);
  std::string name(result.get());
  if (brain_float) replace_all(name, "__float128", "__bf16");
  return name;
}

std::string normalize(std::string_view name) {
  std::string text(base::trim(name));
  if (const auto clone = text.find(" [clone "); clone != std::string::npos) text.resize(clone);
  for (const std::string_view cut :
       {std::string_view("\xE2\x80\xA6"), std::string_view("..."), std::string_view(".kd")}) {
    if (text.ends_with(cut)) text.resize(text.size() - cut.size());
  }
  if (text.starts_with("_Z")) text = demangle(text);
  replace_all(text, "<unnamed>", "(anonymous namespace)");
  replace_all(text, "`anonymous namespace'", "(anonymous namespace)");
  replace_all(text, "operator ()", "operator()");
  replace_all(text, " *", "*");
  return text;
}

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr std::string_view kCallOperator = "operator()";

// Walks over `text` and calls visit(position, depth) for each character outside of names like
// "(anonymous namespace)"; depth counts the brackets that are open before it. Visit returns false to stop.
template <class Visit>
void walk(std::string_view text, Visit visit) {
  std::string open;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(kAnonymous)) {
      at += kAnonymous.size() - 1;
      continue;
    }
    if (text.substr(at).starts_with(kCallOperator)) {
      at += kCallOperator.size() - 1;
      continue;
    }
    if (!visit(at, open.size())) return;
    switch (text[at]) {
      case '<':
      case '(':
      case '[':
      case '{':
        open.push_back(text[at]);
        break;
      case '>':  // a comparison inside parentheses, or an arrow, closes nothing
        if (!open.empty() && open.back() == '<' && (at == 0 || text[at - 1] != '-')) open.pop_back();
        break;
      case ')':
      case ']':
      case '}': {
        const char opener = text[at] == ')' ? '(' : text[at] == ']' ? '[' : '{';
        if (const auto last = open.rfind(opener); last != std::string::npos) open.resize(last);
        break;
      }
      default:
        break;
    }
  }
}

std::vector<std::string> words_of(std::string_view base) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(lower(word));
    word.clear();
  };
  for (std::size_t at = 0; at < base.size(); ++at) {
    const char c = base[at];
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      finish();
      continue;
    }
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool after_lower = at > 0 && std::islower(static_cast<unsigned char>(base[at - 1])) != 0;
    const bool before_lower =
        at + 1 < base.size() && std::islower(static_cast<unsigned char>(base[at + 1])) != 0;
    const bool after_upper = at > 0 && std::isupper(static_cast<unsigned char>(base[at - 1])) != 0;
    if (upper && (after_lower || (after_upper && before_lower))) finish();
    word += c;
  }
  finish();
  return words;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  walk(text, [&](std::size_t at, std::size_t depth) {
    if (depth == 0 && text[at] == ',') {
      parts.push_back(base::trim(text.substr(begin, at - begin)));
      begin = at + 1;
    }
    return true;
  });
  if (const auto last = base::trim(text.substr(begin)); !last.empty() || !parts.empty())
    parts.push_back(last);
  return parts;
}

ParsedName parse_name(std::string_view name) {
  ParsedName parsed;
  parsed.raw = std::string(base::trim(name));
  const std::string text = normalize(name);

  // The name lies between the last outer space (a return type comes before it) and the outer '('.
  std::size_t begin = 0;
  std::size_t end = text.size();
  walk(text, [&](std::size_t at, std::size_t depth) {
    if (depth != 0) return true;
    if (text[at] == ' ') begin = at + 1;
    if (text[at] != '(' || at == begin) return true;
    end = at;
    return false;
  });
  if (begin > end) begin = 0;
  parsed.full = text.substr(begin, end - begin);
  parsed.parameters = text.substr(end);

  std::size_t opened = std::string::npos;
  std::size_t closed = std::string::npos;
  const std::string& full = parsed.full;
  std::size_t taken = 0;  // what lies before it is in `qualified` or was left out
  walk(full, [&](std::size_t at, std::size_t depth) {
    if (depth == 0 && full[at] == '<') {
      parsed.qualified += full.substr(taken, at - taken);
      opened = at;
      closed = std::string::npos;
      taken = full.size();
    } else if (depth == 1 && full[at] == '>' && opened != std::string::npos && full[at - 1] != '-') {
      closed = at;
      taken = at + 1;
    }
    return true;
  });
  parsed.qualified += full.substr(taken);
  if (opened != std::string::npos) {
    const std::size_t stop = closed == std::string::npos ? full.size() : closed;
    parsed.arguments = full.substr(opened + 1, stop - opened - 1);
  }
  const auto separator = parsed.qualified.rfind("::");
  parsed.base = separator == std::string::npos ? parsed.qualified : parsed.qualified.substr(separator + 2);

  parsed.raw_lower = lower(parsed.raw);
  parsed.full_lower = lower(parsed.full);
  parsed.qualified_lower = lower(parsed.qualified);
  parsed.base_lower = lower(parsed.base);
  parsed.words = words_of(parsed.base);
  return parsed;
}

}  // namespace hunch::analysis::names
