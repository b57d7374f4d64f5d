// `hunch help [VERB]`: examples first, then what there is. Fits 80 columns; plain text, so that it pipes
// well.
#include "hunch/cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/cli/commands.h"
#include "hunch/cli/output.h"
#include "hunch/cli/verbs.h"
#include "hunch/report/terminal/layout.h"

namespace hunch::cli {
namespace {

constexpr int kWidth = 80;

report::Style plain_style() {
  report::Style style;
  style.width = kWidth;
  return style;
}

// One paragraph a line of `text`; lines that begin with a blank stay as they are.
void paragraphs(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    if (one.empty())
      out += '\n';
    else if (one[0] == ' ')
      report::terminal::line(out, one);
    else
      report::terminal::paragraph(out, plain_style(), 0, one);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

std::string option_label(const Option& option) {
  std::string label = option.letter.empty() ? "    " : fmt::format("{}, ", option.letter);
  label += option.name;
  if (!option.placeholder.empty()) label += fmt::format(" {}", option.placeholder);
  return label;
}

base::Result<int> execute(const Arguments& arguments) {
  if (arguments.positionals.size() > 1)
    return base::fail(base::ErrorCode::usage, "help: one verb at a time", "hunch help explain");
  if (arguments.positionals.empty()) {
    HUNCH_RETURN_IF_ERROR(write_text(general_help(), "-"));
    return kFine;
  }
  const Command* command = find_command(arguments.positionals.front());
  if (command == nullptr) return base::fail(unknown_verb(arguments.positionals.front()));
  HUNCH_RETURN_IF_ERROR(write_text(verb_help(*command), "-"));
  return kFine;
}

}  // namespace

std::string version_line() { return fmt::format("hunch {}\n", HUNCH_VERSION); }

std::string general_help() {
  std::string out = "hunch: state your hunch, look at the trace, chase the difference.\n\n";
  for (const Command* command : commands()) {
    const auto examples = command->examples;
    report::terminal::line(out, fmt::format("  {}", examples.substr(0, examples.find('\n'))));
  }
  out += "\nVerbs:\n";
  for (const Command* command : commands())
    report::terminal::labelled(out, plain_style(), 2, command->name, 10, command->summary);
  out += "\nResults go to standard output, all else to standard error; '-' is a standard stream.\n";
  out +=
      "Exit status: 0 fine; 1 a guess missed or a --fail-on condition holds; 2 usage, bad\ninput or "
      "environment.\n";
  out += "\n'hunch help VERB' tells more; 'hunch --version' tells the version.\n";
  return out;
}

std::string verb_help(const Command& command) {
  std::string out;
  std::string_view examples = command.examples;
  while (!examples.empty()) {
    const auto end = examples.find('\n');
    report::terminal::line(out, fmt::format("  {}", examples.substr(0, end)));
    if (end == std::string_view::npos) break;
    examples.remove_prefix(end + 1);
  }
  out += fmt::format("\nusage: {}\n\n", command.synopsis);
  report::terminal::paragraph(out, plain_style(), 0, command.summary);
  std::size_t widest = 0;
  for (const auto& group : command.options)
    for (const Option& option : group) widest = std::max(widest, option_label(option).size());
  bool any = false;
  for (const auto& group : command.options) {
    for (const Option& option : group) {
      if (!any) out += '\n';
      any = true;
      report::terminal::labelled(out, plain_style(), 2, option_label(option), widest + 2, option.help);
    }
  }
  if (!command.details.empty()) {
    out += '\n';
    paragraphs(out, command.details);
  }
  return out;
}

const Command& help_command() {
  static const Command kCommand = {
      "help",
      "how to use a verb, with examples",
      "hunch help explain                 what a verb does, and its options",
      "hunch help [VERB]",
      "",
      {},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
