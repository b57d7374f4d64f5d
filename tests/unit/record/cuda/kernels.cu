// See kernels.h.
#include "tests/unit/record/cuda/kernels.h"

#include <cuda.h>
#include <cuda_runtime.h>

namespace hunch::record::testing_kernels {
namespace {

__global__ void add_one_kernel(float* data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

__global__ void __launch_bounds__(256) add_one_slowly_kernel(float* data, int rounds) {
  float sums[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) sums[i] = data[(threadIdx.x + i * 32) % blockDim.x];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 96; ++i) sums[i] = sums[i] * sums[(i + 7) % 96] + sums[(i + 31) % 96];
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 96; ++i) sum += sums[i];
  data[blockIdx.x * blockDim.x + threadIdx.x] += rounds == 0 ? 1 : sum;
}

// More than the default limit of shared memory has to be asked for.
template <class Kernel>
cudaError_t allow_shared(Kernel kernel, std::size_t bytes) {
  if (bytes <= 48 * 1024) return cudaSuccess;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace

int add_one(void* stream, float* data, int blocks, int threads, std::size_t dynamic_shared) {
  if (const cudaError_t error = allow_shared(add_one_kernel, dynamic_shared)) return error;
  add_one_kernel<<<blocks, threads, dynamic_shared, static_cast<cudaStream_t>(stream)>>>(data);
  return cudaGetLastError();
}

int add_one_slowly(void* stream, float* data, int blocks, int threads, std::size_t dynamic_shared) {
  if (const cudaError_t error = allow_shared(add_one_slowly_kernel, dynamic_shared)) return error;
  add_one_slowly_kernel<<<blocks, threads, dynamic_shared, static_cast<cudaStream_t>(stream)>>>(data, 0);
  return cudaGetLastError();
}

int add_one_in_clusters(void* stream, float* data, int blocks, int threads, int cluster) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(cluster);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, add_one_kernel, data);
}

int add_one_cooperatively(void* stream, float* data, int blocks, int threads) {
  void* arguments[] = {&data};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(add_one_kernel), blocks, threads,
                                     arguments, 0, static_cast<cudaStream_t>(stream));
}

int add_one_by_driver(void* stream, float* data, int blocks, int threads) {
  cudaFunction_t function = nullptr;
  if (const cudaError_t error = cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(add_one_kernel)))
    return error;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (const cudaError_t error =
          cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &entry, 12000, cudaEnableDefault, &found))
    return error;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(threads);
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = static_cast<CUstream>(stream);
  void* arguments[] = {&data};
  const auto launch = reinterpret_cast<decltype(&cuLaunchKernelEx)>(entry);
  return launch(&config, function, arguments, nullptr) == CUDA_SUCCESS ? cudaSuccess : cudaErrorLaunchFailure;
}

int add_one_in_graph(void* stream, float* data, int blocks, int threads, int nodes) {
  const auto on = static_cast<cudaStream_t>(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaError_t error = cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  for (int i = 0; i < nodes; ++i) add_one_kernel<<<blocks, threads, 0, on>>>(data);
  if ((error = cudaStreamEndCapture(on, &graph)) != cudaSuccess) return error;
  if ((error = cudaGraphInstantiate(&executable, graph, 0)) != cudaSuccess) return error;
  if ((error = cudaGraphLaunch(executable, on)) != cudaSuccess) return error;
  if ((error = cudaStreamSynchronize(on)) != cudaSuccess) return error;
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return cudaSuccess;
}

}  // namespace hunch::record::testing_kernels
