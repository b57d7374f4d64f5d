// Joins device work with the calls that launched it, by correlation id.
//
// Any runtime or driver call with the work's correlation counts: lists of launch names grow old. Correlation
// ids repeat across processes, so the process decides where it can be told: by the device track's pid, or,
// where device tracks are named by device number, because all of the track's work that only one process can
// have launched comes from that one. Work that two processes could have launched stays unlinked.
// Within a process runtime wins over driver. Several calls of one kind with one correlation (ids reused, or
// recordings joined in one file): the last that starts no later than the work, else the first. Time chooses
// among calls of the same correlation only; it never makes a link.
#pragma once

#include <vector>

#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

// Fills `launch` (already of the trace's size, all kNone) for all device work in `device_order`; returns how
// many found no call. O(n log n).
uint64_t link_launches(const trace::Trace& trace, const std::vector<EventId>& device_order,
                       std::vector<EventId>& launch);

}  // namespace hunch::analysis
