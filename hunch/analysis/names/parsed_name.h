// A kernel's name taken apart: what is called, in which namespaces, with which template arguments, so that
// the tables look at the part that decides and never at the parameter list.
//
// In:  a name as profilers print it: plain, demangled in either common style, mangled, or cut at some width.
// Out: its parts, and lower-case copies for matching. Holds: never fails; what is cut is simply missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hunch::analysis::names {

struct ParsedName {
  std::string raw;         // trimmed
  std::string full;        // without return type and parameter list, with template arguments
  std::string qualified;   // the same without template arguments: "at::native::reduce_kernel"
  std::string base;        // its last component: "reduce_kernel"
  std::string arguments;   // what stands in the last pair of <> of the name
  std::string parameters;  // what follows the name: "(int, float*)"

  std::string raw_lower, full_lower, qualified_lower, base_lower;
  std::vector<std::string>
      words;  // of base, lower-case, split at '_' and at changes of case: "cat", "array", ...
};

ParsedName parse_name(std::string_view name);

// Splits "a<b, c>, (d), e" at its outermost commas; parts are trimmed.
std::vector<std::string_view> split_arguments(std::string_view text);

std::string lower(std::string_view text);

}  // namespace hunch::analysis::names
