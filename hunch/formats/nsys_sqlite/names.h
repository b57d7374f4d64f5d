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

}  // namespace hunch::formats::nsys_sqlite
