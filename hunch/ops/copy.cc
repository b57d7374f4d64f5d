// clone, contiguous, copy_: the copies. Host side. What is dense on both sides moves as one memcpy, as on a
// GPU; only a change of layout needs a kernel.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor clone(const Tensor& x) {
  const base::Span span(base::SpanKind::op, "hunch::clone", span_dims({&x}));
  Tensor out = Tensor::empty(x.device(), x.dtype(), x.shape());
  copy_(out, x);
  return out;
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const base::Span span(base::SpanKind::op, "hunch::contiguous", span_dims({&x}));
  return clone(x);
}

void copy_(const Tensor& target, const Tensor& source) {
  const base::Span span(base::SpanKind::op, "hunch::copy_", span_dims({&target, &source}));
  if (target.numel() == 0) return;
  const Kernels& kernels = kernels_of(target.device());
  if (target.dtype() == source.dtype() && target.shape() == source.shape() && target.is_contiguous() &&
      source.is_contiguous())
    return kernels.copy_bytes(target, source);
  const Tensor wide = source.expand(target.shape());
  if (target.dtype() != source.dtype()) return kernels.cast(target, wide);
  kernels.copy(target, wide, CopyName::copy);
}

}  // namespace hunch::ops
