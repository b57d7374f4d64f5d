// For backends that store the score matrix: whether it fits the device, and the clause that says so if not.
#pragma once

#include <string>
#include <vector>

#include "hunch/attention/problem.h"

namespace hunch::attention {

// Bytes for each (query, key) pair of each head.
struct ScoreBytes {
  double matrix = 0;  // one score matrix
  double peak = 0;    // all matrices of that size that live at once
};

// Appends a reason with numbers where the peak exceeds what the device has free.
void add_score_memory_refusal(const Call& call, ScoreBytes per_pair, std::vector<std::string>& reasons);

}  // namespace hunch::attention
