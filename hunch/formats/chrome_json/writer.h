// Trace to Chrome JSON text; the files are written by write_chrome_json (hunch/formats/writer.h), in
// write_file.cc.
#pragma once

#include <string>

#include "hunch/trace/trace.h"

namespace hunch::formats::chrome_json {

// The whole text, in the form of PyTorch's profiler; valid JSON for every Trace.
std::string write(const trace::Trace& trace);

}  // namespace hunch::formats::chrome_json
