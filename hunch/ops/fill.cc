// ones and full: filled tensors. Host side; the value is rounded to the dtype.
#include "hunch/ops/common.h"
#include "hunch/ops/kernels_cpu.h"

namespace hunch::ops {

Tensor ones(Device& device, DType dtype, const Shape& shape) {
  const base::Span span(base::SpanKind::op, "hunch::ones", span_dims({}));
  Tensor out = Tensor::empty(device, dtype, shape);
  cpu::fill(cpu_of(device), out, 1.0);
  return out;
}

Tensor full(Device& device, DType dtype, const Shape& shape, double value) {
  const base::Span span(base::SpanKind::op, "hunch::full", span_dims({}));
  Tensor out = Tensor::empty(device, dtype, shape);
  cpu::fill(cpu_of(device), out, value);
  return out;
}

}  // namespace hunch::ops
