// Writing: a Trace as Chrome JSON in the form of PyTorch's profiler, which Perfetto and the tools for PyTorch
// traces open. The traces' rows come first among the file's events, so row numbers hold in the file.
#pragma once

#include <string>

#include "hunch/base/result.h"
#include "hunch/trace/trace.h"

namespace hunch::formats {

// Gzip where the path ends in ".gz"; "-" is standard output. Written to a temporary file beside it and
// renamed: never half a file. Errors: io, with the path.
base::Status write_chrome_json(const trace::Trace& trace, const std::string& path);

// The same as text; valid JSON for every Trace.
std::string chrome_json_text(const trace::Trace& trace);

}  // namespace hunch::formats
