// Which frames of modules stand for forwards, where nobody annotated the trace.
//
// PyTorch's profiler writes a frame "nn.Module: LlamaForCausalLM_0" around each call of a module; the number
// tells the instance. A forward is a call of the outermost module that launched work and that was called
// again: 3 calls of one model are 3 forwards, its 8 layers (instances of their own) are not. Where no module
// repeats, the outermost modules themselves, if they launched more than half of the device work.
#pragma once

#include <vector>

#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

inline constexpr std::string_view kModulePrefix = "nn.Module: ";

// By StringId: whether it names a module's frame. Empty where none does.
std::vector<bool> module_names(const trace::Trace& trace);

// The frames, in order of their rows; empty where modules do not tell the forwards.
std::vector<EventId> find_module_ranges(const trace::Trace& trace, const Timeline& timeline);

}  // namespace hunch::analysis
