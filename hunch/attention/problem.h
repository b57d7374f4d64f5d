// The problem: sizes, type and mask of one attention, and the tensors made for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"
#include "hunch/tensor/tensor.h"

namespace hunch::attention {

enum class MaskKind { none, causal, boolean, floating };
std::string_view name_of(MaskKind kind);  // "none", "causal", "bool", "float"
std::optional<MaskKind> parse_mask(std::string_view name);

struct Problem {
  int64_t batch = 1;
  int64_t heads = 1;     // query heads
  int64_t kv_heads = 1;  // key and value heads; divides heads
  int64_t length = 1;    // query length
  int64_t kv_length = 1;
  int64_t head_dim = 1;
  tensor::DType dtype = tensor::DType::bf16;
  MaskKind mask = MaskKind::causal;
  std::optional<double> scale;    // 1/sqrt(head_dim) where not given
  std::optional<int64_t> window;  // with a causal mask: as in Call
  std::optional<double> softcap;  // as in Call

  std::string text()
      const;  // "8 x 16 x 1024 x 64, bf16, causal"; says kv_heads and kv_length where they differ
  // 4 * batch * heads * (attended pairs) * head_dim: the two products; half of all pairs when causal and
  // square; a window's pairs where there is one.
  double flops() const;
};

// "8x16x1024x64": batch x heads x length x head_dim, each >= 1 (batch >= 0). Sets kv_heads and kv_length
// alike. Spaces around the sizes are fine. Error: usage, with what is wrong and what to write instead.
base::Result<Problem> parse_problem(std::string_view text);

// Whether make_call can make this problem: sizes in range, heads a multiple of kv_heads, a floating dtype, a
// finite scale, and no tensor beyond kMaxTensorBytes. Error: usage, in the problem's words. Use it after
// fields were set one by one; it allocates nothing.
base::Status validate(const Problem& problem);
inline constexpr int64_t kMaxTensorBytes = int64_t{1}
                                           << 44;  // 16 TiB: more than any device, far from overflow

// One call of scaled_dot_product_attention, with its semantics:
// query [batch, heads, length, head_dim], key [batch, kv_heads, kv_length, head_dim], value likewise with a
// head_dim of its own allowed to differ only in backends that say so; result [batch, heads, length, value
// dim].
struct Call {
  tensor::Tensor query, key, value;
  std::optional<tensor::Tensor> mask;  // broadcastable to [batch, heads, length, kv_length]; bool: true
                                       // attends; f32, bf16 or f16: added to the scaled scores
  bool is_causal = false;              // top-left: query i attends to keys 0..i; not together with mask
  std::optional<int64_t> window;       // sliding window, only with is_causal: query i attends to the last
                                       // `window` of its keys, i - window + 1..i; at least 1
  std::optional<double> scale;         // 1/sqrt(head_dim) where not given; 0 and negative are valid
  std::optional<double> softcap;       // scaled scores become softcap * tanh(score / softcap) before a mask
                                       // is added; positive
  bool enable_gqa = false;             // kv_heads may divide heads
  bool want_lse = false;  // also return log-sum-exp [batch, heads, length], f32, -inf for empty rows

  double effective_scale() const;
};

struct Output {
  tensor::Tensor out;
  std::optional<tensor::Tensor> lse;
};

// A window and a softcap, where given, in range.
base::Status check_extras(std::optional<int64_t> window, std::optional<double> softcap);

// Shape, dtype and device errors that no backend can accept, in the field's words; ok otherwise.
base::Status validate(const Call& call);

// Random inputs (normal, seeded) for a problem on a device. A boolean mask keeps about 3 in 4 pairs and at
// least one per row; a float mask is normal with some -inf, in the problem's dtype. Both are [length,
// kv_length] and broadcast over batch and heads. The same seed gives the same values. Only for problems that
// validate() accepts; throws std::bad_alloc where the device cannot hold them.
Call make_call(tensor::Device& device, const Problem& problem, uint64_t seed);

}  // namespace hunch::attention
