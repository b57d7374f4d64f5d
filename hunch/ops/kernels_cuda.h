// The kernels of CUDA devices, one file each (<op>_cuda.cu, matmul_cuda.cc): the same list, meanings and
// roundings as kernels_cpu.h. Tensors are already broadcast to the result's shape, results are allocated.
// Each launches exactly one kernel on the device's stream, or nothing where the result is empty. Sizes and
// offsets are 64-bit. Only in builds with CUDA; plain types only, so that any code may include it.
#pragma once

#include <string>

#include "hunch/ops/kernels.h"
#include "hunch/tensor/cuda_device.h"

namespace hunch::ops::cuda {

using tensor::CudaDevice;

void add(CudaDevice& cuda, const Tensor& out, const Tensor& a, const Tensor& b);
void all(CudaDevice& cuda, const Tensor& out, const Tensor& x);
void cast(CudaDevice& cuda, const Tensor& out, const Tensor& x);
void copy(CudaDevice& cuda, const Tensor& out, const Tensor& x, CopyName what);
void copy_bytes(CudaDevice& cuda, const Tensor& out, const Tensor& x);
void fill(CudaDevice& cuda, const Tensor& out, double value);
void is_neg_inf(CudaDevice& cuda, const Tensor& out, const Tensor& x);
void masked_fill(CudaDevice& cuda, const Tensor& x, const Tensor& mask, double value);
// By cuBLASLt, which matmul_missing() must have found. Where an operand has two strides greater than one (or
// repeats rows), it is copied first: that is a second kernel.
void matmul(CudaDevice& cuda, const Tensor& out, const Tensor& a, const Tensor& b);
void mul(CudaDevice& cuda, const Tensor& out, const Tensor& x, double factor);
void softmax(CudaDevice& cuda, const Tensor& out, const Tensor& x);
void tril(CudaDevice& cuda, const Tensor& out, const Tensor& x);
void where(CudaDevice& cuda, const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);

// Why there is no matmul on this machine and what to install; empty where cuBLASLt can be opened.
std::string matmul_missing();
// For measurements: matmul takes the proposal of that rank of cuBLASLt's heuristic from now on, or its last.
// 0, the first, unless set.
void set_matmul_choice(int rank);

}  // namespace hunch::ops::cuda
