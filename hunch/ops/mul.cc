// mul: x * factor, the scale of attention scores. Host side: result and dispatch.
// The factor is rounded to float, the product once to x's dtype.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor mul(const Tensor& x, double factor) {
  const base::Span span(base::SpanKind::op, "hunch::mul", span_dims({&x}));
  HUNCH_CHECK(x.dtype() != DType::boolean, "mul of booleans");
  Tensor out = Tensor::empty(x.device(), x.dtype(), x.shape());
  kernels_of(x.device()).mul(out, x, factor);
  return out;
}

}  // namespace hunch::ops
