// One launch of an attention kernel on a CUDA device.
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/base/check.h"

namespace hunch::attention::tiles {

void launch_on(tensor::CudaDevice& device, const sm80::Launch& launch, const sm80::AttentionParams& params) {
  HUNCH_CHECK(launch.blocks <= sm80::kMaxBlocks, "a grid that refusals should have refused");
  base::WorkInfo work;
  work.name = launch.name;
  work.grid = {static_cast<uint32_t>(launch.blocks), 1, 1};
  work.block = {launch.threads, 1, 1};
  work.registers = launch.registers;
  work.shared_bytes = launch.shared_bytes;
  device.launch(work, [&](void* stream) { return launch.run(params, launch, stream); });
}

}  // namespace hunch::attention::tiles
