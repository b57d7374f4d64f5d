// What breaks a constraint, told with the problem's own numbers. In: a problem, its setup and the table's
// row. Out: a clause, or nothing where the constraint holds. Holds: no check knows a version; rows do.
#include "hunch/sdpa/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace hunch::sdpa::checks {
namespace {

using Found = std::optional<std::string>;

Found unless(bool holds, std::string text) {
  if (holds) return std::nullopt;
  return text;
}

Found of_dtypes(const Problem& p, std::initializer_list<DType> allowed) {
  return unless(std::find(allowed.begin(), allowed.end(), p.dtype) != allowed.end(),
                fmt::format("the inputs are {}", name_of(p.dtype)));
}

std::string head_dims(const Problem& p) {
  return p.head_dim == p.value_dim
             ? fmt::format("head_dim is {}", p.head_dim)
             : fmt::format("head_dim is {} in query and key, {} in value", p.head_dim, p.value_dim);
}

std::string lengths(const Problem& p) {
  return fmt::format("length is {} and kv_length {}", p.length, p.kv_length);
}

Found strides(const Problem& p, bool with_mask, bool excuse_single) {
  const auto last = p.last_strides();
  std::vector<std::string> wrong;
  if (!(excuse_single && p.head_dim == 1))
    for (std::size_t i = 0; i < 3; ++i)
      if (last[i] != 1) {
        constexpr std::string_view kNames[] = {"query's", "key's", "value's"};
        wrong.push_back(fmt::format("{} last stride is {}", kNames[i], last[i]));
      }
  if (with_mask && p.last_stride_of_mask() != 1)
    wrong.push_back(fmt::format("the mask's last stride is {}", p.last_stride_of_mask()));
  return unless(wrong.empty(), fmt::format("{}", fmt::join(wrong, ", ")));
}

}  // namespace

#define HUNCH_SDPA_CHECK(name)                                                   \
  Found name([[maybe_unused]] const Problem& p, [[maybe_unused]] const Setup& s, \
             [[maybe_unused]] const Constraint& c)

HUNCH_SDPA_CHECK(enabled) { return unless(s.is_enabled(c.backend), "it is switched off"); }
HUNCH_SDPA_CHECK(not_nested) { return unless(!p.nested, "the inputs are nested tensors"); }
HUNCH_SDPA_CHECK(variable_set) {
  const std::string name(c.words.substr(0, c.words.find('=')));
  const auto at = s.environment.find(name);
  return unless(at != s.environment.end() && at->second == "1", fmt::format("{} is not set to 1", name));
}
HUNCH_SDPA_CHECK(architecture) {
  return unless(s.sm >= c.limit && s.sm <= c.limit2, fmt::format("the device is {}", s.arch_text()));
}
HUNCH_SDPA_CHECK(dtype_16_bit) { return of_dtypes(p, {DType::f16, DType::bf16}); }
HUNCH_SDPA_CHECK(dtype_f16) { return of_dtypes(p, {DType::f16}); }
HUNCH_SDPA_CHECK(dtype_to_f32) { return of_dtypes(p, {DType::f16, DType::bf16, DType::f32}); }
HUNCH_SDPA_CHECK(dtype_f16_f32) { return of_dtypes(p, {DType::f16, DType::f32}); }
HUNCH_SDPA_CHECK(no_mask) {
  return unless(!p.tensor_mask(), fmt::format("there is a {} mask", name_of(p.mask)));
}
HUNCH_SDPA_CHECK(mask_no_grad) { return unless(!p.mask_grad, "the mask requires a gradient"); }
HUNCH_SDPA_CHECK(mask_rank) {
  const auto sizes = p.mask_sizes();
  return unless(!p.tensor_mask() || sizes.size() == 2 || sizes.size() == 4,
                fmt::format("the mask has {} dimensions", sizes.size()));
}
HUNCH_SDPA_CHECK(same_head_dim) { return unless(p.head_dim == p.value_dim, head_dims(p)); }
HUNCH_SDPA_CHECK(head_dim_most) {
  return unless(p.head_dim <= c.limit && p.value_dim <= c.limit, head_dims(p));
}
HUNCH_SDPA_CHECK(head_dim_aligned) {
  const bool narrow = p.dtype == DType::f16 || p.dtype == DType::bf16;
  const int64_t multiple = narrow ? c.limit : c.limit2;
  return unless(
      p.head_dim > 0 && p.value_dim > 0 && p.head_dim % multiple == 0 && p.value_dim % multiple == 0,
      head_dims(p));
}
HUNCH_SDPA_CHECK(head_dim_multiple_or_0) {
  return unless(p.head_dim % c.limit == 0 && p.value_dim % c.limit == 0, head_dims(p));
}
HUNCH_SDPA_CHECK(head_dim_backward) {
  const bool between = p.head_dim > c.limit && p.head_dim <= c.limit2;
  const bool above = p.head_dim > c.limit2 && p.dropout > 0;
  return unless(!p.grad || !(between || above), fmt::format("head_dim is {} with gradients{}", p.head_dim,
                                                            p.dropout > 0 ? " and dropout" : ""));
}
HUNCH_SDPA_CHECK(causal_square) {
  return unless(p.mask != MaskKind::causal || p.length == p.kv_length, "it is causal, " + lengths(p));
}
HUNCH_SDPA_CHECK(lengths_positive) { return unless(p.length != 0 && p.kv_length != 0, lengths(p)); }
HUNCH_SDPA_CHECK(lengths_not_1) { return unless(p.length != 1 && p.kv_length != 1, lengths(p)); }
HUNCH_SDPA_CHECK(kv_length_not_1) { return unless(p.kv_length != 1, "kv_length is 1"); }
HUNCH_SDPA_CHECK(length_1_no_dropout) {
  return unless(p.length != 1 || p.dropout == 0, fmt::format("length is 1, dropout {}", p.dropout));
}
HUNCH_SDPA_CHECK(same_heads) {
  return unless(p.heads == p.kv_heads,
                fmt::format("query has {} heads, key and value {}", p.heads, p.kv_heads));
}
HUNCH_SDPA_CHECK(grouped_heads) {
  if (p.grouped())
    return unless(p.heads % p.kv_heads == 0,
                  fmt::format("{} key and value heads do not divide query's {}", p.kv_heads, p.heads));
  return unless(p.heads == p.kv_heads,
                fmt::format("query has {} heads, key and value {}, without enable_gqa", p.heads, p.kv_heads));
}
HUNCH_SDPA_CHECK(last_stride_1) { return strides(p, true, false); }
HUNCH_SDPA_CHECK(last_stride_1_but_single) { return strides(p, true, true); }
HUNCH_SDPA_CHECK(qkv_last_stride_1) { return strides(p, false, false); }
HUNCH_SDPA_CHECK(no_dropout) { return unless(p.dropout == 0, fmt::format("dropout is {}", p.dropout)); }
HUNCH_SDPA_CHECK(not_deterministic) {
  return unless(!s.deterministic, "deterministic algorithms are asked for");
}
HUNCH_SDPA_CHECK(never) { return s.cudnn ? "cuDNN is " + cudnn_text(*s.cudnn) : std::string("always"); }

#undef HUNCH_SDPA_CHECK

}  // namespace hunch::sdpa::checks
