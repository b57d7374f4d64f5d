// See the header. A typo is an error before any work is done: a condition that can never hold would let a
// build pass for ever.
#include "hunch/cli/fail_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "hunch/base/strings.h"
#include "hunch/report/utf8.h"

namespace hunch::cli {

base::Result<FailOn> FailOn::from(const Arguments& arguments) {
  std::vector<std::string_view> known;
  for (const auto* rule : analysis::rules::rules()) known.push_back(rule->id());
  known.push_back("any");
  FailOn result;
  for (const std::string& list : arguments.all("--fail-on")) {
    for (const std::string_view part : base::split(list, ',')) {
      const std::string_view name = base::trim(part);
      if (std::find(known.begin(), known.end(), name) == known.end())
        return base::fail(base::ErrorCode::usage,
                          fmt::format("--fail-on {}: no such rule", name.empty() ? "''" : name),
                          base::did_you_mean(name, known));
      if (name == "any")
        result.any_ = true;
      else
        result.rules_.emplace_back(name);
    }
  }
  return result;
}

bool FailOn::tell(const std::vector<analysis::rules::Finding>& findings, std::string_view where) const {
  bool found = false;
  for (const auto& finding : findings) {
    if (!any_ && std::find(rules_.begin(), rules_.end(), finding.rule) == rules_.end()) continue;
    found = true;
    const std::string_view place = where.empty() ? std::string_view(finding.range) : where;
    fmt::print(stderr, "hunch: --fail-on {}: {}: {}\n", finding.rule, report::printable(place),
               report::printable(finding.claim));
  }
  return found;
}

}  // namespace hunch::cli
