// --fail-on of the verbs that find things: the rules whose findings make the exit status 1.
//
// In:  the option's lists of rules, "any" for all. Out: whether a finding is of one of them; each such
// finding
//      is told on standard error, so that a failed build says why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/rules/rule.h"
#include "hunch/cli/command.h"

namespace hunch::cli {

class FailOn {
 public:
  // Error: usage, where a name is no rule's.
  static base::Result<FailOn> from(const Arguments& arguments);

  // Tells each finding of these rules on standard error; true where there is one. `where`: instead of the
  // finding's range, the variant that it was found in.
  bool tell(const std::vector<analysis::rules::Finding>& findings, std::string_view where = {}) const;

 private:
  std::vector<std::string> rules_;
  bool any_ = false;
};

}  // namespace hunch::cli
