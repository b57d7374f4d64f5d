// masked_fill and masked_fill_: a value where the mask is true. Host side. The form that returns a result
// clones first, and that copy is the sixth piece of work that a five-op attention runs.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  const base::Span span(base::SpanKind::op, "hunch::masked_fill", span_dims({&x, &mask}));
  Tensor out = clone(x.expand(broadcast_shape(x.shape(), mask.shape())));
  masked_fill_(out, mask, value);
  return out;
}

void masked_fill_(const Tensor& x, const Tensor& mask, double value) {
  const base::Span span(base::SpanKind::op, "hunch::masked_fill_", span_dims({&x, &mask}));
  HUNCH_CHECK(mask.dtype() == DType::boolean, "the mask is boolean");
  kernels_of(x.device()).masked_fill(x, mask.expand(x.shape()), value);
}

}  // namespace hunch::ops
