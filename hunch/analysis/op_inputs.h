// What an op says of its inputs: their shapes and types, in order.
//
// Empty where the trace has no shapes. A list of tensors gives one entry that is not a shape.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hunch/trace/trace.h"

namespace hunch::analysis {

using Shape = std::vector<int64_t>;
std::vector<std::optional<Shape>> input_shapes(const trace::Trace& trace, trace::EventId op);
// As the source names them: "c10::BFloat16", "float", "Scalar", "".
std::vector<std::string> input_types(const trace::Trace& trace, trace::EventId op);

}  // namespace hunch::analysis
