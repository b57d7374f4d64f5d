// What a user of the library writes: read a trace, hold a guess against it, print the verdicts.
#include <cstdio>
#include <string>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/formats/reader.h"
#include "hunch/guess/guess.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto trace = hunch::formats::read_trace(argv[1]);
  const auto guess = hunch::guess::parse_guess_words("kernels=5 memcpy=0");
  if (!trace || !guess) return 2;
  const auto analysis = hunch::analysis::analyze(*trace);
  const auto verdicts = hunch::guess::compare(*guess, analysis, hunch::analysis::rules::find_all(analysis));
  if (!verdicts) {
    std::fprintf(stderr, "%s\n", hunch::base::describe(verdicts.error()).c_str());
    return 2;
  }
  for (const auto& verdict : *verdicts)
    std::printf("%s: %s expected %s, seen %s, %s\n", verdict.range.c_str(), verdict.metric.c_str(),
                verdict.expected.c_str(), verdict.seen.c_str(),
                std::string(name_of(verdict.outcome)).c_str());
}
