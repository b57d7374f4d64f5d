// See the header: a name, then the parts of emit_nvtx, each read to the end of the text or not at all.
#include "hunch/trace/nvtx_text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace hunch::trace {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
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
  if (out.kind == EventKind::annotation && is_step_name(out.name)) out.kind = EventKind::step;
  return out;
}

}  // namespace hunch::trace
