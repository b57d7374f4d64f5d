// Forwards that nothing in a trace names: what the device's own sequence of work repeats.
//
// In:  device work sorted by launch (sort_by_launch). Out: forwards named "repetition of 333 kernels" or
// "graph replay of 421 kernels"; empty where neither is there. Each piece of work is in one run, before all
// runs (set-up), between or after them (tail); what is in none is simply not in the result.
//
// Repetition, device by device: at least two bodies of the same names in a row that together are more than
// half of all work (repetition.h, work_sequence.h say which, and when it is believed). It is not believed
// to be of forwards where the trace itself says otherwise: where an embedding was looked up shortly before
// the first body and never in it, the bodies are the layers of one forward; where autograd's engine launched
// all of a body, they are a backward's.
// Graph replays: where nothing repeats, or where the body is one replay and nothing else, and replays are
// more than half of all work. Replays of the same names are runs of one forward.
#pragma once

#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis {

std::vector<Forward> find_unnamed_forwards(const trace::Trace& trace, const Timeline& timeline,
                                           const Processes& processes, const std::vector<EventId>& work);

}  // namespace hunch::analysis
