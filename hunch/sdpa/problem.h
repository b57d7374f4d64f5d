// One call of PyTorch's scaled_dot_product_attention, as far as its dispatcher looks at it: sizes, types,
// strides and switches, no data. query is [batch, heads, length, head_dim], key [batch, kv_heads, kv_length,
// head_dim], value [batch, kv_heads, kv_length, value_dim]; strides are in elements.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"

namespace hunch::sdpa {

enum class DType { f32, bf16, f16, f64 };
std::string_view name_of(DType dtype);  // "f32"
std::optional<DType> parse_dtype(std::string_view name);

enum class MaskKind { none, causal, boolean, floating };
std::string_view name_of(MaskKind kind);  // "none", "causal", "bool", "float"
std::optional<MaskKind> parse_mask(std::string_view name);

using Strides = std::array<int64_t, 4>;

struct Problem {
  int64_t batch = 1, heads = 1, kv_heads = 1, length = 1, kv_length = 1, head_dim = 1, value_dim = 1;
  DType dtype = DType::bf16;
  MaskKind mask = MaskKind::causal;
  std::vector<int64_t> mask_shape;    // of a tensor mask; empty: [length, kv_length]
  std::vector<int64_t> mask_strides;  // empty: dense
  bool mask_grad = false;             // the mask requires a gradient
  std::optional<bool> gqa;            // enable_gqa; not given: on where the heads differ
  double dropout = 0;                 // dropout_p
  bool grad = false;                  // query, key and value require gradients
  std::optional<Strides> query_strides, key_strides, value_strides;  // not given: dense
  bool nested = false;                                               // nested tensors

  bool tensor_mask() const { return mask == MaskKind::boolean || mask == MaskKind::floating; }
  bool grouped() const { return gqa.value_or(heads != kv_heads); }
  std::vector<int64_t> mask_sizes() const;  // of a tensor mask
  int64_t last_stride_of_mask() const;      // 1 for no mask
  std::array<int64_t, 3> last_strides() const;
  std::string text() const;  // "8 x 16 x 1024 x 64, bf16, causal, with gradients"
};

// What no backend accepts: negative sizes, a mask that does not broadcast, shapes and strides that do not
// belong together. Error: usage.
base::Status validate(const Problem& problem);

// Strides of a tensor [batch, heads, length, dim] that lies in memory in the order of `layout`'s letters, the
// last the fastest: "bhsd", "bshd", "sbhd", "bhds", ...; "packed": query, key and value of a token beside
// each other; "expand": one head for all. Nothing: no such layout.
std::optional<Strides> strides_of(std::array<int64_t, 4> shape, std::string_view layout);

}  // namespace hunch::sdpa
