// tril: keeps the diagonal and what lies below it; of ones it makes the causal mask. Host side.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor tril(const Tensor& x) {
  const base::Span span(base::SpanKind::op, "hunch::tril", span_dims({&x}));
  HUNCH_CHECK(x.rank() >= 2, "a matrix in the last two dimensions");
  Tensor out = Tensor::empty(x.device(), x.dtype(), x.shape());
  kernels_of(x.device()).tril(out, x);
  return out;
}

}  // namespace hunch::ops
