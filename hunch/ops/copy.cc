// clone, contiguous, copy_: the copies. Host side. What is dense on both sides moves as one memcpy, as on a
// GPU; only a change of layout needs a kernel.
#include "hunch/ops/common.h"
#include "hunch/ops/kernels_cpu.h"

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
  tensor::CpuDevice& cpu = cpu_of(target.device());
  if (target.dtype() == source.dtype() && target.shape() == source.shape() && target.is_contiguous() &&
      source.is_contiguous())
    return cpu::copy_bytes(cpu, target, source);
  const Tensor wide = source.expand(target.shape());
  if (target.dtype() != source.dtype()) return cpu::cast(cpu, target, wide);
  cpu::copy(cpu, target, wide, cpu::CopyName::copy);
}

}  // namespace hunch::ops
