// See the header.
#include "hunch/analysis/rules/math_paths.h"

#include "hunch/analysis/rules/evidence.h"

namespace hunch::analysis::rules {

const MathPath& MathPaths::of(const ForwardRun& run, EventId op) {
  if (run_ != &run) {
    run_ = &run;
    paths_.clear();
    for (std::size_t at = 0; at < run.work.size(); ++at) {
      const EventId path = math_path_of(analysis_, run.work[at]);
      if (path == kNone) continue;
      paths_[path].work.push_back(at);
      const KernelFacts& facts = analysis_.facts_of(run.work[at]);
      if (facts.family == Family::cast && is_16_bit(facts.dtype)) paths_[path].dtype = facts.dtype;
    }
  }
  return paths_[op];
}

}  // namespace hunch::analysis::rules
