// is_neg_inf: where x is -inf; SDPA's safe softmax asks it to find fully masked rows. Host side.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor is_neg_inf(const Tensor& x) {
  const base::Span span(base::SpanKind::op, "hunch::is_neg_inf", span_dims({&x}));
  HUNCH_CHECK(x.dtype() != DType::boolean, "is_neg_inf of booleans");
  Tensor out = Tensor::empty(x.device(), DType::boolean, x.shape());
  kernels_of(x.device()).is_neg_inf(out, x);
  return out;
}

}  // namespace hunch::ops
