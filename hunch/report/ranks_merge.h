// Device work and findings of several ranks, joined: part of report::ranks (ranks.cc).
//
// In:  the ranks, in order. Out: one row for what they share, which names the ranks that have it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/report/report.h"

namespace hunch::report {

// Takes the ranks' kernels: by range, then the most time first.
std::vector<RanksKernel> join_kernels(std::vector<RankTrace>& ranks);

// Takes the ranks' findings: first those that only some ranks have, then by range, each by cost.
std::vector<RanksFinding> join_findings(std::vector<RankTrace>& ranks,
                                        const std::vector<RanksForward>& forwards);

// Where the late ranks of a range compute longer than the others: in which work.
void find_slower(const std::vector<RanksKernel>& kernels, RanksForward& forward);

// A text without its numbers and their units, so that two ranks' words for the same thing are the same.
std::string without_numbers(std::string_view text);

}  // namespace hunch::report
