#include "hunch/formats/nsys_sqlite/names.h"

#include <algorithm>
#include <array>

namespace hunch::formats::nsys_sqlite {
namespace {

using trace::EventKind;

constexpr std::array<std::string_view, 14> kCopies = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                                      "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
constexpr int64_t kFirstUnified = 11;  // migrations of managed memory
constexpr std::array<std::string_view, 8> kMemories = {
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <std::size_t N>
std::string_view at(const std::array<std::string_view, N>& names, std::optional<int64_t> index) {
  return index && *index >= 0 && *index < static_cast<int64_t>(N) ? names[static_cast<std::size_t>(*index)]
                                                                  : "";
}

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

}  // namespace

std::string_view api_name(std::string_view name) {
  const std::size_t version = name.rfind("_v");
  if (version != std::string_view::npos && version + 2 < name.size() && version > 0 &&
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(version) + 2, name.end(), is_digit)) {
    // A driver call's own version ("cuMemAlloc_v2") is part of its name.
    if (name.size() - version > 4) name = name.substr(0, version);
  }
  for (const std::string_view thread : {"_ptsz", "_ptds"})
    if (name.size() > thread.size() && name.substr(name.size() - thread.size()) == thread)
      name.remove_suffix(thread.size());
  return name;
}

EventKind api_kind(std::string_view name, std::optional<int64_t> event_class) {
  if (starts(name, "cuda")) return EventKind::runtime_call;
  if (starts(name, "cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z')
    return EventKind::driver_call;
  return event_class == 1 ? EventKind::driver_call : EventKind::runtime_call;
}

std::string copy_name(std::optional<int64_t> copy_kind, std::optional<int64_t> from,
                      std::optional<int64_t> to) {
  const std::string_view kind = at(kCopies, copy_kind);
  std::string name = "Memcpy";
  if (!kind.empty()) name.append(" ").append(kind);
  const std::string_view source = at(kMemories, from), target = at(kMemories, to);
  if (copy_kind && *copy_kind >= kFirstUnified && !kind.empty()) {
    name += " (Unified memory)";
  } else if (!source.empty() && !target.empty()) {
    name.append(" (").append(source).append(" -> ").append(target).append(")");
  }
  return name;
}

std::string memset_name(std::optional<int64_t> memory_kind) {
  const std::string_view memory = at(kMemories, memory_kind);
  return memory.empty() ? "Memset" : "Memset (" + std::string(memory) + ")";
}

std::string_view sync_name(std::optional<int64_t> type) {
  constexpr std::array<std::string_view, 5> kSyncs = {"Sync", "Event Sync", "Stream Wait Event",
                                                      "Stream Sync", "Context Sync"};
  const std::string_view name = at(kSyncs, type);
  return name.empty() ? "Sync" : name;
}

}  // namespace hunch::formats::nsys_sqlite
