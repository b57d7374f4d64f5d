// From what a process recorded of itself to a Trace, as a Recorder's own recording becomes one.
#pragma once

#include "hunch/record/spool/spool.h"
#include "hunch/trace/trace.h"

namespace hunch::record::spool {

// Ranges become annotations, steps, or ops where their texts say so (trace/nvtx_text.h). Ranges still open
// are closed at the end. Warnings say what is missing: a cut file, a process that did not end by itself.
// Times are put on this process's clock, so that the traces of several processes fit each other.
trace::Trace trace_of(Spool spool);

}  // namespace hunch::record::spool
