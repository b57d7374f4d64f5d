// The conditions of `hunch diff --fail-on`: what makes a difference a failure in CI.
#pragma once

#include <string>
#include <vector>

#include "hunch/base/result.h"
#include "hunch/report/report.h"

namespace hunch::cli {

struct DiffCondition {
  std::string text;     // as given: "slower=5%"
  std::string word;     // "slower", or a rule's id
  double percent = -1;  // below 0: none given
};

// Lists of conditions, separated by commas. Error: usage, with the closest word where one is a typo.
base::Result<std::vector<DiffCondition>> parse_diff_conditions(const std::vector<std::string>& lists);

// Those that hold, with what holds and where. Error: usage, where the traces lack what a condition needs.
base::Result<std::vector<report::DiffFailure>> failed_conditions(const std::vector<DiffCondition>& conditions,
                                                                 const report::DiffReport& report);

}  // namespace hunch::cli
