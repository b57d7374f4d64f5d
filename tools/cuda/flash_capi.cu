// The fused CUDA kernels as C functions, so that a Python script can call them on PyTorch's tensors.
#include <cuda_runtime.h>

#include <algorithm>

#include "hunch/attention/efficient/efficient_sm80.h"
#include "hunch/attention/flash/few_rows_sm80.h"
#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/flash/flash_sm80.h"
#include "hunch/attention/flash/flash_sm90.h"

namespace sm80 = hunch::attention::sm80;
namespace flash = hunch::attention::flash;

namespace {

// What blocks of one launch leave for each other: kept from call to call, so for one stream and thread at a
// time.
int lend_and_run(sm80::AttentionParams params, const sm80::Launch& launch, void* stream) {
  static float* workspace = nullptr;
  static int64_t floats = 0;
  static unsigned* counters = nullptr;
  if (counters == nullptr) {
    if (const int error = cudaMalloc(&counters, sm80::kCounters * sizeof(unsigned)); error != cudaSuccess)
      return error;
    cudaMemset(counters, 0, sm80::kCounters * sizeof(unsigned));
  }
  if (launch.workspace_floats > floats) {
    cudaDeviceSynchronize();
    cudaFree(workspace);
    floats = 0;
    if (const int error = cudaMalloc(&workspace, launch.workspace_floats * sizeof(float));
        error != cudaSuccess)
      return error;
    floats = launch.workspace_floats;
  }
  params.partial_out = workspace;
  params.counters = counters;
  return launch.run(params, launch, stream);
}

int run_sm80(sm80::AttentionParams params, int element_type, const flash::Kernel& kernel, void* stream) {
  params.splits = kernel.parts.count;
  const auto launch = sm80::flash_forward(params, static_cast<sm80::ElementType>(element_type), kernel);
  return lend_and_run(params, launch, stream);
}

flash::DeviceFacts current_facts() {
  const auto attribute = [](cudaDeviceAttr which) {
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, which, device);
    return value;
  };
  flash::DeviceFacts facts;
  facts.compute =
      attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor);
  facts.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  facts.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  facts.clusters = sm80::few_rows_clusters();
  return facts;
}

}  // namespace

extern "C" {

// sizeof(AttentionParams): the caller's layout must agree.
int hunch_params_size() { return static_cast<int>(sizeof(sm80::AttentionParams)); }

// What flash chooses: count and cluster of the parts.
void hunch_flash_parts(const sm80::AttentionParams* params, int* parts) {
  const flash::Parts chosen = flash::choose_sm80_kernel(*params, current_facts()).parts;
  parts[0] = chosen.count;
  parts[1] = chosen.cluster;
}

// Clusters of 2, 4, 8 and 16 blocks of the kernel for few rows that the device runs at once.
void hunch_flash_clusters(int* at_once) { std::ranges::copy(sm80::few_rows_clusters().at_once, at_once); }

// element_type: 0 f16, 1 bf16. Returns a cudaError_t. This one takes the sm_80 kernel on every GPU.
int hunch_flash_sm80_forward(const sm80::AttentionParams* params, int element_type, void* stream) {
  const flash::DeviceFacts facts = current_facts();
  flash::Kernel kernel = flash::choose_sm80_kernel(*params, facts);
  // Other parts than these are for tests: clusters where there can be some, the largest to eight that divide.
  if (kernel.parts.count != params->splits) {
    flash::Parts parts{params->splits, 1};
    for (int cluster = 2; cluster <= std::min(8, flash::clusters_of(facts).largest()); ++cluster)
      if (parts.count % cluster == 0) parts.cluster = cluster;
    if (!kernel.few && parts.groups() > 1) parts.cluster = 1;  // the other kernel has one cluster, or none
    kernel = flash::choose_sm80_kernel(*params, facts, parts);
  }
  return run_sm80(*params, element_type, kernel, stream);
}

// These parts in clusters of so many blocks, which must divide them.
int hunch_flash_parts_forward(const sm80::AttentionParams* params, int element_type, int cluster,
                              void* stream) {
  if (cluster < 1 || params->splits % cluster != 0) return cudaErrorInvalidValue;
  const flash::Parts parts{params->splits, cluster};
  return run_sm80(*params, element_type, flash::choose_sm80_kernel(*params, current_facts(), parts), stream);
}

// The same, where parts never are a cluster: the last block of a tile puts them together, as before sm_90.
int hunch_flash_counted_forward(const sm80::AttentionParams* params, int element_type, void* stream) {
  return hunch_flash_parts_forward(params, element_type, 1, stream);
}

// As the dispatcher does: the Hopper kernel where it takes the call.
int hunch_flash_forward(const sm80::AttentionParams* params, int element_type, void* stream) {
  sm80::AttentionParams own = *params;
  own.splits = 1;
  const auto kernel = flash::choose_kernel(own, current_facts());
  if (kernel.family() == flash::Family::sm90)
    if (const auto hopper =
            hunch::attention::sm90::flash_forward(own, static_cast<sm80::ElementType>(element_type), kernel))
      return lend_and_run(own, *hopper, stream);
  return hunch_flash_sm80_forward(params, element_type, stream);
}

// element_type: 0 f16, 1 bf16, 2 f32. Returns a cudaError_t.
int hunch_efficient_forward(const sm80::AttentionParams* params, int element_type, void* stream) {
  const sm80::Launch forward = sm80::efficient_forward(*params, static_cast<sm80::ElementType>(element_type));
  return forward.run(*params, forward, stream);
}
}
