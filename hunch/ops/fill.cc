// ones and full: filled tensors. Host side; the value is rounded to the dtype.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor ones(Device& device, DType dtype, const Shape& shape) {
  const base::Span span(base::SpanKind::op, "hunch::ones", span_dims({}));
  Tensor out = Tensor::empty(device, dtype, shape);
  kernels_of(device).fill(out, 1.0);
  return out;
}

Tensor full(Device& device, DType dtype, const Shape& shape, double value) {
  const base::Span span(base::SpanKind::op, "hunch::full", span_dims({}));
  Tensor out = Tensor::empty(device, dtype, shape);
  kernels_of(device).fill(out, value);
  return out;
}

}  // namespace hunch::ops
