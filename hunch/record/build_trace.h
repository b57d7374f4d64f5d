// From the buffers of a recording to a Trace in PyTorch's form.
//
// In:  the buffers of all threads, quiet by now, and what a device's tracer saw. Out: rows, host events
// first, then device work with the ranges' shadows on the device, then the tracer's waits and overheads, each
// part sorted by start; source_index is the row, as the writer writes it. Holds: every op and range has an
// External id of its own; a launch, a wait and the device work of a launch carry that of the innermost op
// around the call, or none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hunch/record/device_tracer.h"
#include "hunch/record/thread_buffer.h"
#include "hunch/trace/trace.h"

namespace hunch::record {

struct RecordingParts {
  std::vector<std::unique_ptr<ThreadBuffer>> buffers;
  std::vector<trace::DeviceProperties> devices;  // device work is of the first one, or of device 0
  std::map<std::string, std::string> metadata;
  std::vector<std::string> warnings;
  int64_t pid = 0;      // 0: this process, whose name is then the system's
  std::string process;  // of the program
  // With a device's tracer: what it saw, and when the recording began. Calls before that are left out, with
  // their work.
  std::optional<DeviceActivity> activity;
  Ns started = 0;
};

trace::Trace build_trace(RecordingParts parts);

}  // namespace hunch::record
