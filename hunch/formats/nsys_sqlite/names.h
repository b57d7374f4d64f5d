// What Nsight Systems calls things, in the words that PyTorch's profiler has for them, so that all later
// stages see one language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hunch/trace/trace.h"

namespace hunch::formats::nsys_sqlite {

// "cudaLaunchKernel_v7000" is "cudaLaunchKernel", "cudaMemcpyAsync_ptsz_v7000" is "cudaMemcpyAsync".
std::string_view api_name(std::string_view name);

// Runtime or driver call: by name, else by the event class (1: driver).
trace::EventKind api_kind(std::string_view name, std::optional<int64_t> event_class);

// "Memcpy HtoD (Pinned -> Device)"; kinds of memory are left out where the file does not say them.
std::string copy_name(std::optional<int64_t> copy_kind, std::optional<int64_t> from,
                      std::optional<int64_t> to);
std::string memset_name(std::optional<int64_t> memory_kind);

// "Stream Sync", "Event Sync", "Stream Wait Event", "Context Sync".
std::string_view sync_name(std::optional<int64_t> type);

// Whether an NVTX domain is a library's own, so that its ranges are calls of it and no forwards.
bool is_library_domain(std::string_view name);

// What an NVTX range says, by its text.
struct RangeText {
  trace::EventKind kind = trace::EventKind::annotation;  // annotation, step or op
  std::string_view name;                                 // part of the text
  int64_t sequence = -1;
  uint64_t op_id = 0;
  std::string sizes;  // "[[8,16],[]]"; empty: not said
};

// PyTorch's emit_nvtx writes "aten::mm, seq = 12, op_id = 3, sizes = [[2, 3], [3, 4]]", each part but the
// name optional. A text that does not end so is an annotation with that name, unless its namespace is
// PyTorch's.
RangeText range_text(std::string_view text);

}  // namespace hunch::formats::nsys_sqlite
