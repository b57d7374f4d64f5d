// The attention calls of a trace as questions: what the inputs of each call say of its problem, which backend
// the trace shows, and what it does not tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/cli/why_options.h"

namespace hunch::cli {

struct TraceCall {
  WhyQuestion question;
  std::string took;                       // "flash"; empty: the trace does not show it
  bool direct = false;                    // the backend's op was called without scaled_dot_product_attention
  bool values_told = false;               // is_causal, dropout_p, scale, enable_gqa
  std::string scale;                      // as the trace writes it; empty: the default
  std::string gradients;                  // "needed", "of the mask only", "not needed", "not told"
  std::string because;                    // how that is told
  std::vector<std::string> not_told;      // a clause each
  std::vector<std::string> explanations;  // of what is not told: what alone would give `took`, where the
                                          // table gives another
  std::vector<int64_t> events;            // the calls that are alike, as source indices
  std::vector<trace::EventId> ops;        // the same as rows
};

struct TraceCalls {
  std::vector<TraceCall> calls;    // by first call
  std::vector<std::string> notes;  // what the trace does not tell
  bool told_torch = false;         // PyTorch's version was given, or the trace tells it
  bool told_device = false;        // so was the architecture: an NVIDIA GPU's, or the CPU
};

// `setup` is what the command line gives; `given_arch`, `given_torch` and `given_cudnn`: it did, so the
// trace's own are left aside. Error: usage where the trace has no attention call with shapes.
base::Result<TraceCalls> calls_of(const analysis::Analysis& analysis, const sdpa::Setup& setup,
                                  bool given_arch, bool given_torch, bool given_cudnn);

}  // namespace hunch::cli
