// The operations that attention by hand is made of. Each opens a span named "hunch::<op>", allocates its
// result (unless its name ends in _), and launches device work on the tensor's device; the number of
// kernels each launches is said here and holds on every device. Shapes broadcast as NumPy's do. Inputs may
// have any strides. Wrong shapes or dtypes are bugs of the caller: attention validates before it calls.
#pragma once

#include "hunch/tensor/tensor.h"

namespace hunch::ops {

using tensor::Device;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

// [..., M, K] x [..., K, N] -> [..., M, N], batch dimensions broadcast; one kernel. f32 accumulation.
Tensor matmul(const Tensor& a, const Tensor& b);
// x * factor, same dtype; one kernel.
Tensor mul(const Tensor& x, double factor);
// a + b; the wider dtype of the two wins; one kernel.
Tensor add(const Tensor& a, const Tensor& b);
// A copy of x with `value` where mask (bool) is true: clones first, so one memcpy and one kernel.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
// The same, overwriting x; one kernel.
void masked_fill_(const Tensor& x, const Tensor& mask, double value);
// Over the last dimension, in float; a row of -inf gives NaN, as the formula says; one kernel.
Tensor softmax(const Tensor& x);
// condition (bool) ? a : b, all broadcast, a and b of one dtype; one kernel.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// Zeroes what lies above the diagonal of the last two dimensions; one kernel.
Tensor tril(const Tensor& x);
// Filled tensors; one kernel each. full with rank 0 makes a scalar.
Tensor ones(Device& device, DType dtype, const Shape& shape);
Tensor full(Device& device, DType dtype, const Shape& shape, double value);
// x == -inf, as bool; one kernel.
Tensor is_neg_inf(const Tensor& x);
// True where all of the last dimension is true, that dimension kept with size 1; one kernel.
Tensor all(const Tensor& x);
// To another dtype, dense; one kernel. The same dtype returns x itself and launches nothing.
Tensor cast(const Tensor& x, DType dtype);
// A dense copy of x: a memcpy where x is contiguous, else one kernel. Spans: clone > copy_.
Tensor clone(const Tensor& x);
// x itself where it is contiguous, else a clone.
Tensor contiguous(const Tensor& x);
// Writes source (broadcast) into target: a memcpy where both are contiguous and alike, else one kernel.
void copy_(const Tensor& target, const Tensor& source);
// Repeats each entry of dimension 1 `times` times in a row (grouped heads to full heads); one kernel.
Tensor repeat_heads(const Tensor& x, int64_t times);

}  // namespace hunch::ops
