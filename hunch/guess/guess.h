// A guess: what a reader expects of a forward, written before looking. Parsed from TOML or from words on
// the command line; held against an Analysis; every miss comes with its evidence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/base/result.h"

namespace hunch::guess {

// One line of a guess: metric against an expectation, as written ("5", ">= 1", "1..3", "< 2 ms", "flash",
// "< naive": less than the same metric of another range).
struct Expectation {
  std::string range;  // the range to look at; empty: the only one there is (an error where there are several)
  std::string metric;    // "kernels"
  std::string expected;  // normalised text of the right-hand side; a sequence as "matmul, mul, softmax"
};

struct Guess {
  std::string source;  // file name, or "--guess"
  std::vector<Expectation> expectations;
};

// TOML, as in docs: [forward] or [forward."name"]. Errors: parse with file, byte and remedy ("did you mean").
base::Result<Guess> parse_guess_toml(std::string_view text, const std::string& name);
// "kernels=5 memcpy=0 sequence=matmul,mul,softmax device_time='< 2 ms'".
base::Result<Guess> parse_guess_words(std::string_view words);

enum class Outcome { holds, misses, unknown };
std::string_view name_of(Outcome outcome);

struct Verdict {
  std::string range;
  std::string metric;
  std::string expected;
  std::string seen;  // what the trace has; empty where unknown
  Outcome outcome = Outcome::unknown;
  std::string why;  // a miss: the finding or events that explain it; unknown: the reason
  std::vector<analysis::EventId> events;  // evidence, of the first run that misses
};

// A forward in another trace that a bound may name ("< naive").
struct Reference {
  std::string name;
  const analysis::Analysis* analysis = nullptr;  // its first forward counts
};

// Counts must hold in every run of the range, times by their median.
// Misses first, the most surprising on top; then what could not be judged, then what holds. A name in a
// bound is looked up in `others` first, then among the trace's own ranges; unknown where neither has it.
// Error: usage, where a range does not exist or must be named.
base::Result<std::vector<Verdict>> compare(const Guess& guess, const analysis::Analysis& analysis,
                                           const std::vector<analysis::rules::Finding>& findings,
                                           std::span<const Reference> others = {});

}  // namespace hunch::guess
