// The matcher behind the tables: no regular expressions, since every pattern there is a few plain words and
// the tables are walked once for each distinct name of a trace.
#include "hunch/analysis/names/pattern.h"

#include <algorithm>

#include "hunch/base/strings.h"

namespace hunch::analysis::names {
namespace {

bool same(char pattern, char text) { return pattern == text || (pattern == '.' && text == ' '); }

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char t, char p) { return same(p, t); }) != text.end();
}

bool starts_with(std::string_view text, std::string_view part) {
  return text.size() >= part.size() && std::equal(part.begin(), part.end(), text.begin(), same);
}

bool alternative_holds(std::string_view alternative, std::string_view text, const ParsedName& name) {
  switch (alternative.front()) {
    case '^':
      return starts_with(text, alternative.substr(1));
    case '=':
      return text.size() + 1 == alternative.size() && starts_with(text, alternative.substr(1));
    case '~':
      return std::find(name.words.begin(), name.words.end(), alternative.substr(1)) != name.words.end();
    default:
      break;
  }
  if (alternative.ends_with('$')) {
    const auto part = alternative.substr(0, alternative.size() - 1);
    return text.size() >= part.size() && starts_with(text.substr(text.size() - part.size()), part);
  }
  return contains(text, alternative);
}

}  // namespace

bool matches(std::string_view pattern, Part part, const ParsedName& name) {
  const std::string& text = part == Part::raw         ? name.raw_lower
                            : part == Part::full      ? name.full_lower
                            : part == Part::qualified ? name.qualified_lower
                                                      : name.base_lower;
  for (std::string_view clause : base::split(pattern, ' ')) {
    if (clause.empty()) continue;
    const bool negated = clause.front() == '!';
    if (negated) clause.remove_prefix(1);
    const auto alternatives = base::split(clause, '|');
    const bool holds =
        std::any_of(alternatives.begin(), alternatives.end(), [&](std::string_view alternative) {
          return !alternative.empty() && alternative_holds(alternative, text, name);
        });
    if (holds == negated) return false;
  }
  return true;
}

}  // namespace hunch::analysis::names
