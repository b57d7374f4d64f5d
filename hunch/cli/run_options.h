// The options of `hunch run`, read and checked before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hunch/cli/command.h"
#include "hunch/guess/guess.h"
#include "hunch/lab/lab.h"

namespace hunch::cli {

using lab::kForwardRange;

struct RunPlan {
  lab::Options lab;
  std::optional<int> cuda_device;     // its index; none: the CPU
  int threads = 0;                    // of the CPU device; 0 on a GPU
  std::string trace_dir;              // empty: traces are not written
  std::optional<guess::Guess> guess;  // the user's, instead of the shipped ones
};

extern const std::span<const Option> kRunOptions;

// Errors: usage, each with its option and what to write instead; environment for a device that is not here.
base::Result<RunPlan> plan_of(const Arguments& arguments);

// What of the user's guess speaks about `variant`: a range that is a variant's name is for that one alone.
// Its expectations then name the laboratory's range.
guess::Guess guess_for(const guess::Guess& guess, const std::string& variant);

}  // namespace hunch::cli
