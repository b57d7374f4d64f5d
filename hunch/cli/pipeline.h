// The pipeline that verbs share: a trace becomes a Study (trace, analysis, findings), a guess is held against
// it, and both become a report. Each verb's file is the rest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/base/result.h"
#include "hunch/formats/reader.h"
#include "hunch/guess/guess.h"
#include "hunch/trace/trace.h"

namespace hunch::cli {

// A trace with all that is known about it. The analysis points into the trace: a Study does not move.
struct Study {
  trace::Trace trace;
  analysis::Analysis analysis;
  std::vector<analysis::rules::Finding> findings;

  // `threads`: as ReadOptions says; the Study is the same for any number.
  explicit Study(trace::Trace source, int threads = 1);
  Study(const Study&) = delete;
  Study& operator=(const Study&) = delete;
};

// Reads and studies a file, "-" for standard input; shows progress. Errors: as read_trace.
base::Result<std::unique_ptr<Study>> study_file(const std::string& path, const formats::ReadOptions& options);

// A guess from words ("kernels=5 memcpy=0") or from the TOML file of that name: words have a "=", and a file
// that exists wins. Errors: usage, parse, not_found.
base::Result<guess::Guess> guess_of(const std::string& words_or_file);
// From a file alone, "-" for standard input.
base::Result<guess::Guess> guess_of_file(const std::string& path);

}  // namespace hunch::cli
