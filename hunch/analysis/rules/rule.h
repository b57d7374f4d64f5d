// A rule turns one surprising thing about a forward into a finding: a claim with its evidence, cost, cause
// and advice. Adding one is a file here and a line in rules.cc. A rule that is not sure stays silent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis::rules {

struct Finding {
  std::string rule;           // the rule's id
  std::string range;          // the forward's range
  std::string claim;          // what, with numbers: "1 copy per forward, 127 us (12 % of the forward)"
  std::string cause;          // why: the op that launched it, and how the trace shows it
  std::string advice;         // what to do, and when not to
  std::optional<Ns> cost_ns;  // per forward (median over its runs)
  std::optional<int64_t> cost_bytes;  // per forward
  std::vector<EventId> events;        // evidence, of the first run
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::string_view id() const = 0;       // its file's name
  virtual std::string_view summary() const = 0;  // one line
  virtual std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const = 0;
};

std::span<const Rule* const> rules();

// All rules on all forwards, in the order of forwards, then of cost (largest first); the same for any number
// of threads.
std::vector<Finding> find_all(const Analysis& analysis, int threads = 1);

}  // namespace hunch::analysis::rules
