// From the buffers of a recording to a Trace in PyTorch's form.
//
// In:  the buffers of all threads, quiet by now. Out: rows, host events first, then device work with the
// ranges' shadows on the device, each part sorted by start; source_index is the row, as the writer writes it.
// Holds: every op and range has an External id of its own; a launch, a wait and the device work of a launch
// carry that of the innermost op around the call, or none.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hunch/record/thread_buffer.h"
#include "hunch/trace/trace.h"

namespace hunch::record {

struct RecordingParts {
  std::vector<std::unique_ptr<ThreadBuffer>> buffers;
  std::vector<trace::DeviceProperties> devices;  // device work is of the first one, or of device 0
  std::map<std::string, std::string> metadata;
};

trace::Trace build_trace(RecordingParts parts);

}  // namespace hunch::record
