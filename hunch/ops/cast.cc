// cast: to another dtype, dense. Host side. To bool it is value != 0, from bool 0 and 1.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const base::Span span(base::SpanKind::op, "hunch::cast", span_dims({&x}));
  Tensor out = Tensor::empty(x.device(), dtype, x.shape());
  kernels_of(x.device()).cast(out, x);
  return out;
}

}  // namespace hunch::ops
