// Trace to Chrome JSON text. The public way in is hunch/formats/writer.h; write_file.cc makes files of it.
// In:  a Trace, recorded or read. Out: one text that ends in a newline.
// Holds: what writer.cc says at its head.
#pragma once

#include <string>

#include "hunch/trace/trace.h"

namespace hunch::formats::chrome_json {

// The whole text, in the form of PyTorch's profiler; valid JSON for every Trace.
std::string write(const trace::Trace& trace);

}  // namespace hunch::formats::chrome_json
