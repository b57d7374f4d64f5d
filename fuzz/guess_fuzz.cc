// Feeds any text to the parsers of guesses: TOML files and words of the command line. They must not crash or
// hang; an error must say something and lie in the text, and what parses must have a metric and a bound in
// each line.
//
// In:  the fuzzer's bytes; the first one chooses the parser. Out: nothing; a violated invariant aborts.
#include <cstdint>
#include <string_view>

#include "hunch/base/check.h"
#include "hunch/guess/guess.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool words = data[0] == 'w';
  const auto guess =
      words ? hunch::guess::parse_guess_words(text) : hunch::guess::parse_guess_toml(text, "fuzz.toml");
  if (guess) {
    for (const auto& expectation : guess->expectations) {
      HUNCH_CHECK(!expectation.metric.empty());
      HUNCH_CHECK(!expectation.expected.empty());
    }
  } else {
    HUNCH_CHECK(!guess.error().message.empty());
    HUNCH_CHECK(!guess.error().byte || *guess.error().byte <= text.size());
  }
  return 0;
}
