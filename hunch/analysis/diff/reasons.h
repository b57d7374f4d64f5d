// Why an item is there, gone or other: the finding that is about that very work.
#pragma once

#include <vector>

#include "hunch/analysis/diff/diff.h"
#include "hunch/analysis/diff/steps.h"

namespace hunch::analysis::diff {

// Findings of one side's forward that the other does not have. Of one rule, those with the same cause are the
// same; what is left of a rule on both sides is paired in order.
struct FindingChange {
  std::vector<rules::Finding> appeared, vanished;
};
FindingChange change_of(const std::vector<rules::Finding>& before, const std::vector<rules::Finding>& after);

// The findings of a range.
std::vector<rules::Finding> findings_of(const Side& side, const std::string& range);

// Which findings are about which step of a forward's representative run. Only rules that say why work is
// there count; what a rule says of occupancy or of the recording explains no difference.
class Explainer {
 public:
  Explainer(const Steps& steps, const std::vector<rules::Finding>& findings);

  // Of the findings about every one of these steps, the one about the fewest events; null where there is
  // none.
  const rules::Finding* about(const std::vector<std::size_t>& steps) const;

 private:
  std::vector<std::vector<const rules::Finding*>> of_step_;
};

}  // namespace hunch::analysis::diff
