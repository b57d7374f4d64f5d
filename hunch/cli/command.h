// A verb of the command line as plain data: its words for help, the options it takes, and the function that
// runs it. One file a verb defines one Command; commands.cc lists them; options.cc parses for all of them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::cli {

struct Option {
  std::string_view name;         // "--problem"
  std::string_view letter;       // "-o", or empty
  std::string_view placeholder;  // "SIZES"; empty: a flag without a value
  std::string_view help;
  bool repeats = false;  // may be given several times
};

// A parsed command line of one verb; values are text, each verb reads its own.
class Arguments {
 public:
  std::vector<std::string> positionals;
  std::map<std::string, std::vector<std::string>, std::less<>>
      values;  // by option name; flags have one empty value

  bool has(std::string_view option) const { return values.find(option) != values.end(); }
  std::optional<std::string> text(std::string_view option) const;
  std::vector<std::string> all(std::string_view option) const;
  // An integer in [least, most], or `fallback` where the option is not given. Error: usage.
  base::Result<int64_t> integer(std::string_view option, int64_t fallback, int64_t least, int64_t most) const;
};

// Exit statuses.
inline constexpr int kFine = 0;
inline constexpr int kMissed = 1;
inline constexpr int kFailed = 2;

struct Command {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view examples;  // lines "hunch ...", each with a comment; help starts with them
  std::string_view synopsis;  // "hunch explain TRACE [OPTIONS]"
  std::string_view details;   // paragraphs after the options; may be empty
  std::vector<std::span<const Option>> options;
  base::Result<int> (*execute)(const Arguments& arguments);
  bool takes_command = false;  // the words from the first that is no option are a command's, options too
};

}  // namespace hunch::cli
