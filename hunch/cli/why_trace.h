// The attention calls of a trace as questions: what each call's shapes say of its problem, and which backend
// the trace shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/cli/why_options.h"

namespace hunch::cli {

struct TraceCall {
  WhyQuestion question;
  std::string took;             // "flash"; empty: the trace does not show it
  std::vector<int64_t> events;  // the calls that are alike, as source indices
};

struct TraceCalls {
  std::vector<TraceCall> calls;    // by first call
  std::vector<std::string> notes;  // what the trace does not tell
};

// `setup` is what the command line gives; `given_arch`, `given_torch` and `given_cudnn`: it did, so the
// trace's own are left aside. Error: usage where the trace has no attention call with shapes.
base::Result<TraceCalls> calls_of(const analysis::Analysis& analysis, const sdpa::Setup& setup,
                                  bool given_arch, bool given_torch, bool given_cudnn);

}  // namespace hunch::cli
