// What stands around a written trace's events: the file's head, and the metadata events that name tracks.
//
// In:  a Trace. Out: JSON appended to the text of writer.cc, which owns the order of things.
// Holds: a field that the Trace does not know is left out; hunch's CPU device is marked as one, and has none
// of the fields that only a GPU has.
#pragma once

#include <string>

#include "hunch/trace/trace.h"

namespace hunch::formats::chrome_json {

// Opens one more element of the list that `out` ends in, "[" or an element before it.
void open_event(std::string& out);

// From the file's first brace up to, and without, "traceEvents".
void append_head(std::string& out, const trace::Trace& trace);

// What viewers show beside the tracks; devices sort behind processes, as in PyTorch's traces.
void append_track_names(std::string& out, const trace::Trace& trace);

}  // namespace hunch::formats::chrome_json
