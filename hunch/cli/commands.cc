// The table of verbs: one line each, in the order of help. And the way from a command line to one of them.
#include "hunch/cli/commands.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "hunch/base/strings.h"
#include "hunch/cli/help.h"
#include "hunch/cli/options.h"
#include "hunch/cli/output.h"
#include "hunch/cli/verbs.h"
#include "hunch/report/utf8.h"

namespace hunch::cli {
namespace {

base::Result<int> dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    HUNCH_RETURN_IF_ERROR(write_text(general_help(), "-"));
    return kFine;
  }
  if (words[0] == "--version" || words[0] == "-V") {
    HUNCH_RETURN_IF_ERROR(write_text(version_line(), "-"));
    return kFine;
  }
  const Command* command = find_command(words[0]);
  if (command == nullptr) return base::fail(unknown_verb(words[0]));
  HUNCH_ASSIGN(const Arguments arguments, parse_options(*command, {words.begin() + 1, words.end()}));
  if (arguments.has("--help")) {
    HUNCH_RETURN_IF_ERROR(write_text(verb_help(*command), "-"));
    return kFine;
  }
  return command->execute(arguments);
}

}  // namespace

std::span<const Command* const> commands() {
  static const std::array<const Command*, 9> kCommands = {
      &run_command(), &explain_command(), &check_command(),  &diff_command(), &record_command(),
      &why_command(), &name_command(),    &doctor_command(), &help_command()};
  return kCommands;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : commands())
    if (command->name == name) return command;
  return nullptr;
}

base::Error unknown_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command* command : commands()) names.push_back(command->name);
  const bool option = !name.empty() && name[0] == '-';
  base::Error error;
  error.message =
      option ? fmt::format("'{}' comes before a verb", name) : fmt::format("unknown verb '{}'", name);
  error.remedy = option ? fmt::format("a verb first: one of {}", fmt::join(names, ", "))
                        : base::did_you_mean(name, names);
  return error;
}

void tell(const base::Error& error) {
  // One line, whatever the words of the user or of a file hold.
  fmt::print(stderr, "hunch: {}\n", report::printable(base::describe(error)));
}

int run_command_line(const std::vector<std::string>& words) {
  const auto status = dispatch(words);
  if (status) return *status;
  tell(status.error());
  return kFailed;
}

}  // namespace hunch::cli
