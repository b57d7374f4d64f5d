// What the texts of NVTX ranges and the names of their domains say, in the words that PyTorch's profiler has.
//
// In:  texts as a program gave them to NVTX, from a file of Nsight Systems or a recording of hunch's own.
// Out: an op with its shapes, a step, or an annotation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hunch/trace/trace.h"

namespace hunch::trace {

// Whether an NVTX domain is a library's own, so that its ranges are calls of it and no forwards.
bool is_library_domain(std::string_view name);

// What an NVTX range says, by its text.
struct RangeText {
  EventKind kind = EventKind::annotation;  // annotation, step or op
  std::string_view name;                   // part of the text
  int64_t sequence = -1;
  uint64_t op_id = 0;
  std::string sizes;  // "[[8,16],[]]"; empty: not said
};

// PyTorch's emit_nvtx writes "aten::mm, seq = 12, op_id = 3, sizes = [[2, 3], [3, 4]]", each part but the
// name optional. A text that does not end so is an annotation with that name, unless its namespace is
// PyTorch's.
RangeText range_text(std::string_view text);

}  // namespace hunch::trace
