// Which forward of one trace is held against which of the other.
//
// Ranges of the same name; the two that `range` names; or, where each trace has exactly one forward, these
// two whatever their names. Errors (usage): nothing recorded, no such range, no range in common.
#pragma once

#include <string>
#include <vector>

#include "hunch/analysis/diff/diff.h"

namespace hunch::analysis::diff {

struct Pairing {
  struct Two {
    const Forward* before = nullptr;
    const Forward* after = nullptr;
  };
  std::vector<Two> pairs;
  std::vector<std::string> only_before, only_after;
  std::vector<std::string> warnings;
};

base::Result<Pairing> pair_forwards(const Side& before, const Side& after, const std::string& range);

}  // namespace hunch::analysis::diff
