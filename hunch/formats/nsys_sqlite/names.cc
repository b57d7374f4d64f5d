#include "hunch/formats/nsys_sqlite/names.h"

#include <algorithm>
#include <array>
#include <limits>

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

// Takes `mark` from the front of `text`.
bool take(std::string_view& text, std::string_view mark) {
  if (!starts(text, mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

bool take_number(std::string_view& text, uint64_t& to) {
  std::size_t digits = 0;
  uint64_t value = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    const auto digit = static_cast<uint64_t>(text[digits] - '0');
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
    value = value * 10 + digit;
  }
  if (digits == 0) return false;
  text.remove_prefix(digits);
  to = value;
  return true;
}

// Takes a balanced list of numbers and lists, without its spaces.
bool take_list(std::string_view& text, std::string* to) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    const bool known =
        is_digit(c) || c == '-' || c == ',' || c == ' ' || c == '[' || c == ']' || c == '(' || c == ')';
    if (!known || depth <= 0) {
      if (!known || depth < 0 || i == 0) return false;
      if (to != nullptr) *to += c;
      text.remove_prefix(i + 1);
      return true;
    }
    if (to != nullptr && c != ' ') *to += c;
  }
  return false;
}

// The parts that emit_nvtx writes behind a name, to the end of the text.
bool take_parts(std::string_view text, RangeText& out) {
  RangeText parts;
  uint64_t number = 0;
  bool any = false;
  if (take(text, ", seq = ")) {
    if (!take_number(text, number) || number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return false;
    parts.sequence = static_cast<int64_t>(number);
    any = true;
  }
  if (take(text, ", op_id = ")) {
    if (!take_number(text, parts.op_id)) return false;
    any = true;
  }
  if (take(text, ", sizes = ")) {
    if (!take_list(text, &parts.sizes)) return false;
    any = true;
  }
  if (take(text, ", input_op_ids = ")) {
    if (!take_list(text, nullptr)) return false;
    any = true;
  }
  if (!any || !text.empty()) return false;
  out.sequence = parts.sequence;
  out.op_id = parts.op_id;
  out.sizes = std::move(parts.sizes);
  return true;
}

bool is_pytorch_namespace(std::string_view name) {
  for (const std::string_view known : {"aten::", "autograd::", "torch::", "prim::", "prims::", "c10::",
                                       "c10d::", "quantized::", "inductor::"})
    if (starts(name, known)) return true;
  return false;
}

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

bool is_library_domain(std::string_view name) {
  constexpr std::array<std::string_view, 13> kLibraries = {
      "nccl",     "cccl",     "cub",    "thrust",   "cublas",   "cudnn",  "cufft",
      "cusparse", "cusolver", "curand", "cutensor", "tensorrt", "nvshmem"};
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](std::string_view library) { return starts(lower, library); });
}

RangeText range_text(std::string_view text) {
  RangeText out;
  out.name = text;
  for (std::size_t at = text.find(", "); at != std::string_view::npos; at = text.find(", ", at + 1)) {
    if (!take_parts(text.substr(at), out)) continue;
    out.name = text.substr(0, at);
    const bool bare = out.name == "detach" || out.name == "detach_";  // PyTorch's, without a namespace
    const bool op = bare || out.sequence >= 0 || out.name.find("::") != std::string_view::npos;
    out.kind = op ? EventKind::op : EventKind::annotation;
    break;
  }
  if (is_pytorch_namespace(out.name)) out.kind = EventKind::op;
  if (out.kind == EventKind::annotation && trace::is_step_name(out.name)) out.kind = EventKind::step;
  return out;
}

}  // namespace hunch::formats::nsys_sqlite
