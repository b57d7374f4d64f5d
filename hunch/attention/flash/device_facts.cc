#include "hunch/attention/flash/device_facts.h"

#if HUNCH_HAS_CUDA
#include "hunch/attention/flash/few_rows_sm80.h"
#include "hunch/tensor/cuda_device.h"
#endif

namespace hunch::attention::flash {

DeviceFacts facts_of(tensor::Device& device) {
  const tensor::DeviceInfo& info = device.info();
  DeviceFacts facts;
  facts.compute = info.compute_major * 10 + info.compute_minor;
  facts.multiprocessors = info.multiprocessors;
  facts.shared_bytes = shared_bytes_of(facts.compute);
#if HUNCH_HAS_CUDA
  if (const tensor::CudaDevice* const gpu = device.as_cuda(); gpu != nullptr) {
    facts.shared_bytes = gpu->properties().shared_bytes_per_block_optin;
    if (clusters_of(facts).largest() > 1) facts.clusters = sm80::few_rows_clusters();
  }
#endif
  return facts;
}

}  // namespace hunch::attention::flash
