// add: a + b, the float mask of attention scores. Host side: broadcasting, the wider dtype, dispatch.
// f32 is wider than both 16-bit types, and they than bool; bf16 with f16 gives f32, which holds both.
#include "hunch/ops/common.h"

namespace hunch::ops {
namespace {

DType wider(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  return DType::f32;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const base::Span span(base::SpanKind::op, "hunch::add", span_dims({&a, &b}));
  const DType dtype = wider(a.dtype(), b.dtype());
  HUNCH_CHECK(dtype != DType::boolean, "add of booleans");
  Tensor out = Tensor::empty(a.device(), dtype, broadcast_shape(a.shape(), b.shape()));
  kernels_of(a.device()).add(out, a.expand(out.shape()), b.expand(out.shape()));
  return out;
}

}  // namespace hunch::ops
