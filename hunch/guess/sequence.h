// Aligning a guessed sequence with the kernels and copies of a run.
//
// An element matches an event whose family it names, or whose launching stack has an op of that name
// (namespace and a trailing underscore left out). The alignment keeps the order and matches as many
// elements as can be; among equals it prefers matches by family, so that the copy inside a masked_fill is
// the extra event and its kernel the expected one. Where guess and run are so long that this would take long,
// each element takes the next event that matches.
#pragma once

#include <string>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::guess {

struct SequenceDifference {
  std::vector<analysis::EventId> extra;  // in the run, not in the guess
  std::vector<std::string> missing;      // in the guess, not in the run
  std::string seen;                      // the run's own sequence, "matmul, mul, memcpy, ...", its first 500
  bool equal() const { return extra.empty() && missing.empty(); }
};

SequenceDifference align(const std::vector<std::string>& guessed, const analysis::Analysis& analysis,
                         const analysis::ForwardRun& run);

// "matmul", "masked_fill", "memcpy": what a sequence element would call this event.
std::string element_name(const analysis::Analysis& analysis, analysis::EventId event);

}  // namespace hunch::guess
