// hunch: state your hunch, look at the trace, chase the difference.
//
// In:  a command line. Out: a report on standard output, diagnostics on standard error, and an exit status: 0
// fine,
//      1 a guess missed, 2 usage, bad input or environment, with one line that says what, where and what to
//      try.
// The story from here: commands.cc picks the verb and options.cc parses its words; the verb's file runs its
// pipeline (trace, analysis, findings, guesses, report); output.cc renders and writes.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "hunch/cli/commands.h"
#include "hunch/report/utf8.h"

int main(int argc, char** argv) {
  // A reader that goes away is no failure: writes then say EPIPE, and output.cc takes it as the end.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  // Code of hunch does not throw; libraries do.
  try {
    return hunch::cli::run_command_line(words);
  } catch (const std::bad_alloc&) {
    std::fputs("hunch: out of memory (try: a smaller problem or trace)\n", stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hunch: a library failed: {}\n", hunch::report::printable(error.what()));
  } catch (...) {
    std::fputs("hunch: a library failed for an unknown reason\n", stderr);
  }
  return hunch::cli::kFailed;
}
