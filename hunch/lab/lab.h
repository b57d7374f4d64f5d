// The laboratory: runs attention variants on a device under the recorder and hands back their traces.
// No number of a run is made here but the errors against the reference; counts and times come from the
// trace, by analysis.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/attention/backend.h"
#include "hunch/record/schedule.h"
#include "hunch/trace/trace.h"

namespace hunch::lab {

struct Options {
  attention::Problem problem;
  std::vector<std::string> variants;  // by attention::variant_name, in the order to run
  record::Schedule schedule;
  uint64_t seed = 1;
  bool device_tracer = true;  // CUDA devices: record by the device's own tracer, where there is one
};

// The ranges of a recording: once before the first call, and around each call.
inline constexpr std::string_view kPrepareRange = "attn_prepare";
inline constexpr std::string_view kForwardRange = "attn_fwd";

struct Recording {
  std::string variant;                // "flash", "torch.flash"
  std::string backend;                // "flash"
  std::string provider;               // "native", "torch"
  std::vector<std::string> refusals;  // why it did not run; then nothing below is set
  std::optional<trace::Trace> trace;  // forwards in ranges "attn_fwd"
  // What happens once: preparing the call, in the range "attn_prepare", and the schedule's first step, where
  // that is not an active one.
  std::optional<trace::Trace> first_call;
  std::vector<std::string> notes;  // what the recording lacks, and why; the Trace carries them as warnings
  double max_abs_error = 0;  // against the double-precision reference, on a sample of rows for large problems
  double error_bound = 0;    // what the design allows for this dtype and problem
  bool error_ok = false;
};

// Told what goes on: variant name, step, of how many.
using Progress = std::function<void(const std::string& what, int done, int total)>;

// One Recording a variant. Errors: usage for a name that is no variant; environment where a provider's
// library does not open; unsupported where inputs do not fit memory.
base::Result<std::vector<Recording>> run(tensor::Device& device, const Options& options,
                                         const Progress& progress);

}  // namespace hunch::lab
