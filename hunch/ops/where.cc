// where: condition ? a : b. Host side: all three broadcast to the result.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const base::Span span(base::SpanKind::op, "hunch::where", span_dims({&condition, &a, &b}));
  HUNCH_CHECK(condition.dtype() == DType::boolean && a.dtype() == b.dtype(),
              "a boolean, and two of one dtype");
  const Shape shape = broadcast_shape(condition.shape(), broadcast_shape(a.shape(), b.shape()));
  Tensor out = Tensor::empty(condition.device(), a.dtype(), shape);
  kernels_of(out.device()).where(out, condition.expand(shape), a.expand(shape), b.expand(shape));
  return out;
}

}  // namespace hunch::ops
