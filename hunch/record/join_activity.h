// What a device's tracer saw, put among what the threads recorded.
//
// In:  the parts of a recording with `activity`. Out: each call as an event of its thread's buffer (of a new
// buffer, where the thread recorded nothing itself), with the op and the range that it belongs to; each piece
// of device work as a DeviceEvent. Synchronizations and overheads stay in `activity`.
// Holds: of calls inside each other that are one launch, the outermost is kept: a runtime call stands for the
// driver call that it makes, a library's own driver call for itself. A call belongs to the op whose id it
// carries; without one, to the innermost op around it in time on its thread.
#pragma once

#include <string>
#include <vector>

#include "hunch/record/build_trace.h"

namespace hunch::record {

struct JoinedActivity {
  std::vector<DeviceEvent> work;
  std::vector<std::string> warnings;
};

// `parts.activity` must be set; names of calls and work point into it.
JoinedActivity join_activity(RecordingParts& parts);

}  // namespace hunch::record
