// What an op says of its inputs: their shapes, types, strides and values, in order. Of the last two see
// trace::OpDetail.
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
// In elements; nothing for an input that is no tensor.
std::vector<std::optional<Shape>> input_strides(const trace::Trace& trace, trace::EventId op);
// Of scalars, as the source writes them: "True", "0.", "0.125"; empty for tensors and for what was not given.
std::vector<std::string> input_values(const trace::Trace& trace, trace::EventId op);

}  // namespace hunch::analysis
