// all: whether a whole row is true; an empty row is. Host side.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor all(const Tensor& x) {
  const base::Span span(base::SpanKind::op, "hunch::all", span_dims({&x}));
  HUNCH_CHECK(x.dtype() == DType::boolean && x.rank() >= 1, "booleans with a last dimension");
  Shape shape = x.shape();
  shape[-1] = 1;
  Tensor out = Tensor::empty(x.device(), DType::boolean, shape);
  kernels_of(x.device()).all(out, x);
  return out;
}

}  // namespace hunch::ops
