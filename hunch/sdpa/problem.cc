// A problem's words, its derived strides, and what is wrong with it. In: a Problem. Out: text, strides, or
// one usage error. Holds: a validated problem has sizes that are not negative and a mask that broadcasts.
#include "hunch/sdpa/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hunch::sdpa {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 4> kDTypes = {
    {{DType::f32, "f32"}, {DType::bf16, "bf16"}, {DType::f16, "f16"}, {DType::f64, "f64"}}};
constexpr std::array<std::pair<MaskKind, std::string_view>, 4> kMasks = {{{MaskKind::none, "none"},
                                                                          {MaskKind::causal, "causal"},
                                                                          {MaskKind::boolean, "bool"},
                                                                          {MaskKind::floating, "float"}}};

template <class Table, class Key>
std::string_view name_in(const Table& table, Key key) {
  for (const auto& [value, name] : table)
    if (value == key) return name;
  return "?";
}

base::Status fail(std::string message, std::string remedy) {
  return base::fail(base::ErrorCode::usage, std::move(message), std::move(remedy));
}

std::string dims(const std::vector<int64_t>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

}  // namespace

std::string_view name_of(DType dtype) { return name_in(kDTypes, dtype); }
std::string_view name_of(MaskKind kind) { return name_in(kMasks, kind); }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const auto& [value, text] : kDTypes)
    if (text == name) return value;
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16" || name == "half") return DType::f16;
  if (name == "float32" || name == "float") return DType::f32;
  if (name == "float64" || name == "double") return DType::f64;
  return std::nullopt;
}

std::optional<MaskKind> parse_mask(std::string_view name) {
  for (const auto& [value, text] : kMasks)
    if (text == name) return value;
  return std::nullopt;
}

std::vector<int64_t> Problem::mask_sizes() const {
  return mask_shape.empty() ? std::vector<int64_t>{length, kv_length} : mask_shape;
}

int64_t Problem::last_stride_of_mask() const {
  if (!tensor_mask() || mask_strides.empty()) return 1;
  return mask_strides.back();
}

std::array<int64_t, 3> Problem::last_strides() const {
  const auto last = [](const std::optional<Strides>& strides) { return strides ? strides->back() : 1; };
  return {last(query_strides), last(key_strides), last(value_strides)};
}

std::string Problem::text() const {
  std::string out = fmt::format("{} x {} x {} x {}", batch, heads, length, head_dim);
  if (kv_heads != heads) out += fmt::format(", {} key and value heads", kv_heads);
  if (gqa) out += *gqa ? ", enable_gqa" : ", enable_gqa off";
  if (kv_length != length) out += fmt::format(", kv_length {}", kv_length);
  if (value_dim != head_dim) out += fmt::format(", value_dim {}", value_dim);
  out += fmt::format(", {}, ", name_of(dtype));
  out += mask == MaskKind::none ? "no mask" : std::string(name_of(mask));
  if (tensor_mask()) out += " mask " + dims(mask_sizes()) + (mask_grad ? " with a gradient" : "");
  if (dropout > 0) out += fmt::format(", dropout {}", dropout);
  if (grad) out += ", with gradients";
  if (nested) out += ", nested";
  return out;
}

base::Status validate(const Problem& problem) {
  const auto& p = problem;
  for (const auto& [name, size] : {std::pair<const char*, int64_t>{"batch", p.batch},
                                   {"length", p.length},
                                   {"kv_length", p.kv_length},
                                   {"head_dim", p.head_dim},
                                   {"value_dim", p.value_dim}})
    if (size < 0) return fail(fmt::format("{} is {}", name, size), "0 or more");
  if (p.heads < 1 || p.kv_heads < 1)
    return fail(fmt::format("query has {} heads and key has {}", p.heads, p.kv_heads), "at least one each");
  if (!(p.dropout >= 0 && p.dropout < 1))
    return fail(fmt::format("dropout is {}", p.dropout), "at least 0 and below 1");
  if (!p.tensor_mask()) {
    if (!p.mask_shape.empty() || !p.mask_strides.empty() || p.mask_grad)
      return fail("a mask's shape, strides or gradient without a mask tensor", "mask bool or float");
    return {};
  }
  const auto shape = p.mask_sizes();
  const std::array<int64_t, 4> scores = {p.batch, p.heads, p.length, p.kv_length};
  bool fits = shape.size() >= 2 && shape.size() <= 4;
  for (std::size_t i = 1; fits && i <= shape.size(); ++i)
    fits = shape[shape.size() - i] == 1 || shape[shape.size() - i] == scores[4 - i];
  if (!fits)
    return fail(
        fmt::format("mask {} does not broadcast to the scores [{}]", dims(shape), fmt::join(scores, ", ")),
        "[batch or 1, heads or 1, length or 1, kv_length or 1], leading ones left out at will");
  if (!p.mask_strides.empty() && p.mask_strides.size() != shape.size())
    return fail(fmt::format("mask has {} sizes and {} strides", shape.size(), p.mask_strides.size()),
                "one stride a dimension");
  if (p.mask_grad && p.mask == MaskKind::boolean)
    return fail("a boolean mask has no gradient", "mask float, or no gradient of it");
  return {};
}

std::optional<Strides> strides_of(std::array<int64_t, 4> shape, std::string_view layout) {
  const auto [batch, heads, length, dim] = shape;
  if (layout == "expand") return Strides{length * dim, 0, dim, 1};
  if (layout == "packed") return Strides{length * 3 * heads * dim, dim, 3 * heads * dim, 1};
  constexpr std::string_view kLetters = "bhsd";
  if (layout.size() != 4) return std::nullopt;
  Strides strides = {-1, -1, -1, -1};
  int64_t at = 1;
  for (std::size_t i = 4; i-- > 0;) {
    const auto dimension = kLetters.find(layout[i]);
    if (dimension == std::string_view::npos || strides[dimension] != -1) return std::nullopt;
    strides[dimension] = at;
    at *= std::max<int64_t>(shape[dimension], 1);
  }
  return strides;
}

}  // namespace hunch::sdpa
