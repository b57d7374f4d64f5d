// CLI11 takes the words apart (--name=value, -o value, flags); what is left over and looks like an option is
// a typo, and gets the closest name. Nothing of CLI11 escapes from here, its exceptions included.
#include "hunch/cli/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

#include "hunch/base/strings.h"

namespace hunch::cli {
namespace {

constexpr Option kHelp = {"--help", "-h", "", "this help", false};

std::vector<Option> all_options(const Command& command) {
  std::vector<Option> options;
  for (const auto& group : command.options) options.insert(options.end(), group.begin(), group.end());
  options.push_back(kHelp);
  return options;
}

base::Error usage(const Command& command, std::string message, std::string remedy) {
  base::Error error;
  error.message = std::move(message);
  error.remedy = remedy.empty() ? fmt::format("hunch {} --help", command.name) : std::move(remedy);
  return error;
}

bool looks_like_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

base::Error unknown_option(const Command& command, const std::vector<Option>& options,
                           std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  for (const Option& option : options) names.push_back(option.name);
  const auto close = base::closest(name, names);
  return usage(command, fmt::format("{}: unknown option {}", command.name, name),
               close.empty() ? std::string() : base::did_you_mean(name, names));
}

// Where the words of a command begin that the verb runs: at "--" or at the first word that is no option of
// the verb nor an option's value.
std::vector<std::string>::const_iterator find_command_words(const std::vector<Option>& options,
                                                            const std::vector<std::string>& words) {
  auto word = words.begin();
  for (; word != words.end() && *word != "--" && looks_like_option(*word); ++word) {
    for (const Option& option : options)
      if (!option.placeholder.empty() && (*word == option.name || *word == option.letter) &&
          word + 1 != words.end()) {
        ++word;
        break;
      }
  }
  return word;
}

}  // namespace

base::Result<Arguments> parse_options(const Command& command, const std::vector<std::string>& words) {
  const std::vector<Option> options = all_options(command);
  const auto rest = command.takes_command ? find_command_words(options, words)
                                          : std::find(words.begin(), words.end(), "--");
  std::vector<std::string> before(words.begin(), rest);

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const Option*, CLI::Option*>> known;
  for (const Option& option : options) {
    std::string names(option.name);
    if (!option.letter.empty()) names = fmt::format("{},{}", option.letter, option.name);
    CLI::Option* added =
        option.placeholder.empty() ? app.add_flag(names) : app.add_option(names)->expected(1);
    added->take_all();
    known.emplace_back(&option, added);
  }
  // CLI11 says only that some argument is missing; the option that stands last says which.
  if (!before.empty() && !before.back().empty())
    for (const Option& option : options)
      if (!option.placeholder.empty() && (before.back() == option.name || before.back() == option.letter) &&
          (before.size() < 2 || !looks_like_option(before[before.size() - 2])))
        return base::fail(usage(command,
                                fmt::format("{} {}: the value is missing", command.name, option.name),
                                fmt::format("{} {}", option.name, option.placeholder)));
  try {
    std::reverse(before.begin(), before.end());  // CLI11 takes them from the back
    app.parse(before);
  } catch (const CLI::Error& error) {
    return base::fail(usage(command, fmt::format("{}: {}", command.name, error.what()), {}));
  }

  Arguments arguments;
  for (const std::string& word : app.remaining()) {
    if (looks_like_option(word)) return base::fail(unknown_option(command, options, word));
    arguments.positionals.push_back(word);
  }
  if (rest != words.end())
    arguments.positionals.insert(arguments.positionals.end(), *rest == "--" ? rest + 1 : rest, words.end());
  for (const auto& [option, parsed] : known) {
    if (parsed->count() == 0) continue;
    const std::vector<std::string> results = parsed->results();
    if (!option->placeholder.empty() && !option->repeats && results.size() > 1)
      return base::fail(
          usage(command, fmt::format("{} {}: given {} times", command.name, option->name, results.size()),
                "give it once"));
    arguments.values.emplace(option->name, results);
  }
  return arguments;
}

std::optional<std::string> Arguments::text(std::string_view option) const {
  const auto found = values.find(option);
  if (found == values.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view option) const {
  const auto found = values.find(option);
  return found == values.end() ? std::vector<std::string>{} : found->second;
}

base::Result<int64_t> Arguments::integer(std::string_view option, int64_t fallback, int64_t least,
                                         int64_t most) const {
  const auto given = text(option);
  if (!given) return fallback;
  const auto value = base::parse_int(base::trim(*given));
  if (!value || *value < least || *value > most)
    return base::fail(base::ErrorCode::usage, fmt::format("{} {}: expected a whole number from {} to {}",
                                                          option, *given, least, most));
  return *value;
}

}  // namespace hunch::cli
