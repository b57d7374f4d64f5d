// The steps, as a recording of PyTorch's own math path shows them (bf16, causal: 20 kernels):
//   cast query, key, value up (3, 16-bit inputs only); query * sqrt(scale); mask: ones, tril, -inf, 0, where
//   (a boolean mask: the last three; a float mask: none); repeat grouped heads (2); key * sqrt(scale);
//   matmul; add the mask; safe softmax: softmax, is -inf, all, 0, where; cast the weights down, matmul, cast
//   down.
// The weights cast down are the second result of that path. Nobody reads them here, as in most models; they
// are made because the path makes them, and a reader of its trace will ask.
#include "hunch/attention/math/math.h"

#include <cmath>
#include <limits>

#include "hunch/attention/extras.h"
#include "hunch/attention/score_memory.h"
#include "hunch/base/probe.h"
#include "hunch/ops/ops.h"

namespace hunch::attention::math {
namespace {

using base::Span;
using base::SpanKind;
using tensor::Device;
using tensor::DType;
using tensor::Tensor;

// 0 where a pair is kept, -inf where it is not.
Tensor additive_mask(const Tensor& keep) {
  Device& device = keep.device();
  const Tensor hidden = ops::full(device, DType::f32, {}, -std::numeric_limits<double>::infinity());
  const Tensor kept = ops::full(device, DType::f32, {}, 0.0);
  return ops::where(keep, kept, hidden);
}

Tensor safe_softmax(const Tensor& scores) {
  const Span span(SpanKind::op, "hunch::_safe_softmax", tensor::dims_text({&scores}));
  const Tensor weights = ops::softmax(scores);
  const Tensor hidden = ops::is_neg_inf(scores);
  const Tensor empty_rows = ops::all(hidden);
  const Tensor zero = ops::full(scores.device(), DType::f32, {}, 0.0);
  return ops::where(empty_rows, zero, weights);
}

}  // namespace

std::string_view MathBackend::summary() const {
  return "SDPA's reference: f32 throughout, mask rebuilt at each call, safe softmax";
}

std::vector<std::string> MathBackend::refusals(const Call& call) const {
  std::vector<std::string> reasons;
  if (call.want_lse) reasons.emplace_back("it does not return the log-sum-exp");
  add_extra_refusals(call, reasons);
  // At the end of the safe softmax live scores, weights and result in f32, and "is -inf" in bool.
  add_score_memory_refusal(call, {.matrix = 4, .peak = 13}, reasons);
  return reasons;
}

base::Result<Output> MathBackend::forward(const Prepared& prepared) const {
  const Call& call = prepared.call;
  const Span span(SpanKind::op, "hunch::_scaled_dot_product_attention_math",
                  tensor::dims_text({&call.query, &call.key, &call.value}));
  Device& device = call.query.device();
  const DType dtype = call.query.dtype();
  const Tensor query = ops::cast(call.query, DType::f32);
  Tensor key = ops::cast(call.key, DType::f32);
  Tensor value = ops::cast(call.value, DType::f32);

  // Half of the scale on each side keeps the product in range; the sign goes to the query alone.
  const double scale = call.effective_scale();
  const double root = std::sqrt(std::fabs(scale));
  const Tensor scaled_query = ops::mul(query, scale < 0 ? -root : root);

  std::optional<Tensor> mask = call.mask;
  if (call.is_causal) {
    mask = additive_mask(ops::tril(ops::ones(device, DType::boolean, {query.size(2), key.size(2)})));
  } else if (mask && mask->dtype() == DType::boolean) {
    mask = additive_mask(*mask);
  }

  const int64_t times = query.size(1) / key.size(1);
  if (times > 1) {
    key = ops::repeat_heads(key, times);
    value = ops::repeat_heads(value, times);
  }
  Tensor weights = ops::matmul(scaled_query, ops::mul(key.transpose(-2, -1), root));
  if (mask) weights = ops::add(weights, *mask);
  weights = safe_softmax(weights);
  const Tensor returned_weights = ops::cast(weights, dtype);
  return Output{ops::cast(ops::matmul(weights, value), dtype), std::nullopt};
}

}  // namespace hunch::attention::math
