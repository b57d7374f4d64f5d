// The kernels of the CPU device, one file each (<op>_cpu.cc). Each launches exactly one kernel, or nothing
// where the result is empty. Tensors are already broadcast (expanded) to the result's shape, results are
// allocated; the launch keeps raw pointers only, as stream-ordered freeing wants it.
#pragma once

#include <vector>

#include "hunch/ops/ops.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::ops::cpu {

using tensor::CpuDevice;

void add(CpuDevice& cpu, const Tensor& out, const Tensor& a, const Tensor& b);
void all(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void cast(CpuDevice& cpu, const Tensor& out, const Tensor& x);
// The same dtype, any strides on both sides. `what` names the kernel: a copy or repeat_heads.
enum class CopyName { copy, repeat_heads };
void copy(CpuDevice& cpu, const Tensor& out, const Tensor& x, CopyName what);
// Both dense, same dtype and size: a memcpy rather than a kernel.
void copy_bytes(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void fill(CpuDevice& cpu, const Tensor& out, double value);
void is_neg_inf(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void masked_fill(CpuDevice& cpu, const Tensor& x, const Tensor& mask, double value);
void matmul(CpuDevice& cpu, const Tensor& out, const Tensor& a, const Tensor& b);
void mul(CpuDevice& cpu, const Tensor& out, const Tensor& x, double factor);
void softmax(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void tril(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void where(CpuDevice& cpu, const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace hunch::ops::cpu
