// `hunch check GUESS TRACE`: holds a guess against a trace.
//
// In:  a guess file or --guess words, and a trace. Out: every verdict, misses first with their evidence; exit
//      status 1 where one misses.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/verbs.h"

namespace hunch::cli {
namespace {

constexpr std::array<Option, 2> kOptions = {{
    {"--guess", "-g", "WORDS", "the guess in words, instead of a file: 'kernels=5 memcpy=0'", false},
    {"--salvage", "", "", "read a file that is cut off as far as it goes", false},
}};

base::Result<int> execute(const Arguments& arguments) {
  const auto words = arguments.text("--guess");
  const auto& given = arguments.positionals;
  const std::size_t expected = words ? 1 : 2;
  if (given.size() != expected) {
    std::string what = "check: a guess and a trace are missing";
    if (words)
      what =
          given.empty() ? "check: the trace is missing" : "check: with --guess, one trace and no guess file";
    else if (given.size() == 1)
      what = fmt::format("check: only one of guess and trace is given ({})", given.front());
    else if (given.size() > 2)
      what = fmt::format("check: one guess and one trace, not {} files", given.size());
    return base::fail(
        base::ErrorCode::usage, what,
        words ? "hunch check --guess 'kernels=5' trace.json.gz" : "hunch check guess.toml trace.json.gz");
  }
  if (!words && given[0] == "-" && given[1] == "-")
    return base::fail(base::ErrorCode::usage, "check: standard input cannot be both the guess and the trace",
                      "a file for one of them");
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  // The guess first: a typo in it shows before a large trace is read.
  HUNCH_ASSIGN(const guess::Guess guess, words ? guess_of(*words) : guess_of_file(given.front()));
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  HUNCH_ASSIGN(const auto study, study_file(given.back(), options));
  auto compared = guess::compare(guess, study->analysis, study->findings);
  if (!compared) {
    if (compared.error().file.empty()) compared.error().file = given.back();
    return base::fail(compared.error());
  }
  const bool missed = std::any_of(compared->begin(), compared->end(), [](const auto& verdict) {
    return verdict.outcome == guess::Outcome::misses;
  });
  report::CheckReport report;
  report.trace = given.back();
  report.guess = guess.source;
  report.verdicts = report::verdict_rows(study->analysis, *compared);
  HUNCH_RETURN_IF_ERROR(presentation.show(report));
  return missed ? kMissed : kFine;
}

}  // namespace

const Command& check_command() {
  static const Command kCommand = {
      "check",
      "hold a guess against a trace; exit 1 where it misses",
      "hunch check guess.toml trace.json.gz\n"
      "hunch check --guess 'kernels=5 memcpy=0' trace.json.gz\n"
      "hunch check --guess 'backend=flash device_time=\"< 2 ms\"' trace.json.gz",
      "hunch check GUESS TRACE [OPTIONS]\n"
      "       hunch check --guess WORDS TRACE [OPTIONS]",
      "GUESS is a TOML file, short enough to write before looking:\n"
      "\n"
      "  [forward]                  # or [forward.\"attn_fwd\"], one of several ranges\n"
      "  kernels     = 5            # or \">= 1\", \"1..3\"\n"
      "  memcpy      = 0\n"
      "  sequence    = [\"matmul\", \"mul\", \"masked_fill\", \"softmax\", \"matmul\"]\n"
      "  backend     = \"flash\"\n"
      "  device_time = \"< 2 ms\"\n"
      "\n"
      "A verdict holds, misses, or is unknown where the trace does not tell; only a miss makes the status 1.",
      {kOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
