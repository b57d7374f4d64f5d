// The kernels of the CPU device, one file each (<op>_cpu.cc); kernels.h says what each must hold.
#pragma once

#include "hunch/ops/kernels.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::ops::cpu {

using tensor::CpuDevice;

void add(CpuDevice& cpu, const Tensor& out, const Tensor& a, const Tensor& b);
void all(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void cast(CpuDevice& cpu, const Tensor& out, const Tensor& x);
void copy(CpuDevice& cpu, const Tensor& out, const Tensor& x, CopyName what);
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
