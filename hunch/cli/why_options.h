// The options of `hunch why`: a problem and where its call is made, from words and from lines of JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hunch/cli/command.h"
#include "hunch/sdpa/problem.h"
#include "hunch/sdpa/setup.h"

namespace hunch::cli {

struct WhyQuestion {
  sdpa::Problem problem;
  sdpa::Setup setup;
};

extern const std::span<const Option> kWhyOptions;

// The problem of --problem and its options. Errors: usage, with the option.
base::Result<sdpa::Problem> why_problem(const Arguments& arguments);
// Where: --torch, --arch, --cudnn, --cuda, --enable, --priority, --deterministic, --env. Errors: usage.
base::Result<sdpa::Setup> why_setup(const Arguments& arguments);
// A file (or "-") of JSON objects, one a line; what a line leaves out is as in `setup` and as the defaults of
// --problem. Errors: parse and usage, with the line.
base::Result<std::vector<WhyQuestion>> why_questions(const std::string& path, const sdpa::Setup& setup);
// The problem's fields in the order of the report, values as JSON text.
std::vector<std::pair<std::string, std::string>> why_fields(const sdpa::Problem& problem);

}  // namespace hunch::cli
