// repeat_heads: grouped key and value heads to full heads, by a copy. Host side.
// A view with a repeated dimension, written out dense: [B, H, ...] -> [B, H, times (stride 0), ...] -> copy.
#include "hunch/ops/common.h"

namespace hunch::ops {

Tensor repeat_heads(const Tensor& x, int64_t times) {
  const base::Span span(base::SpanKind::op, "hunch::repeat_heads", span_dims({&x}));
  HUNCH_CHECK(x.rank() >= 2 && x.rank() < Shape::kMaxRank && times >= 1, "heads in dimension 1");
  Shape repeated, result;
  for (int dim = 0; dim < x.rank(); ++dim) {
    repeated.push_back(x.size(dim));
    if (dim == 1) repeated.push_back(times);
    result.push_back(dim == 1 ? x.size(dim) * times : x.size(dim));
  }
  Tensor out = Tensor::empty(x.device(), x.dtype(), result);
  kernels_of(x.device()).copy(out.view(repeated), x.unsqueeze(2).expand(repeated), CopyName::repeat_heads);
  return out;
}

}  // namespace hunch::ops
