// softmax over the last dimension, in float whatever the dtype, rounded once. Host side. The plain formula:
// a row of -inf gives NaN, which SDPA's safe softmax exists to avoid.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor softmax(const Tensor& x) {
  const base::Span span(base::SpanKind::op, "hunch::softmax", span_dims({&x}));
  HUNCH_CHECK(x.dtype() != DType::boolean && x.rank() >= 1, "floats with a last dimension");
  Tensor out = Tensor::empty(x.device(), x.dtype(), x.shape());
  kernels_of(x.device()).softmax(out, x);
  return out;
}

}  // namespace hunch::ops
