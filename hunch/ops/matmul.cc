// matmul: batched matrix product, batch dimensions broadcast. Host side: shapes, result, dispatch.
#include "hunch/ops/common.h"

namespace hunch::ops {
namespace {

Shape batch_of(const Tensor& x) {
  Shape shape;
  for (int dim = 0; dim < x.rank() - 2; ++dim) shape.push_back(x.size(dim));
  return shape;
}

Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  const base::Span span(base::SpanKind::op, "hunch::matmul", span_dims({&a, &b}));
  HUNCH_CHECK(a.rank() >= 2 && b.rank() >= 2 && a.size(-1) == b.size(-2), "[..., M, K] and [..., K, N]");
  HUNCH_CHECK(a.dtype() == b.dtype() && a.dtype() != DType::boolean, "two matrices of one float dtype");
  const Shape batch = broadcast_shape(batch_of(a), batch_of(b));
  Tensor out = Tensor::empty(a.device(), a.dtype(), with_matrix(batch, a.size(-2), b.size(-1)));
  kernels_of(a.device())
      .matmul(out, a.expand(with_matrix(batch, a.size(-2), a.size(-1))),
              b.expand(with_matrix(batch, b.size(-2), b.size(-1))));
  return out;
}

}  // namespace hunch::ops
