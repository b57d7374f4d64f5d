// The fused CUDA kernels as C functions, so that a Python script can call them on PyTorch's tensors.
#include <cuda_runtime.h>

#include "hunch/attention/efficient/efficient_sm80.h"
#include "hunch/attention/flash/flash_sm80.h"
#include "hunch/attention/flash/flash_sm90.h"

namespace sm80 = hunch::attention::sm80;

extern "C" {

// sizeof(AttentionParams): the caller's layout must agree.
int hunch_params_size() { return static_cast<int>(sizeof(sm80::AttentionParams)); }

int hunch_flash_splits(const sm80::AttentionParams* params, int multiprocessors) {
  return sm80::flash_splits(*params, multiprocessors);
}

// element_type: 0 f16, 1 bf16. Returns a cudaError_t.
int hunch_flash_forward(const sm80::AttentionParams* params, int element_type, void* stream) {
  const auto type = static_cast<sm80::ElementType>(element_type);
  if (hunch::attention::sm90::flash_takes(*params, type)) {
    const sm80::Launch hopper = hunch::attention::sm90::flash_forward(*params, type);
    return hopper.run(*params, hopper, stream);
  }
  const sm80::Launch forward = sm80::flash_forward(*params, type);
  const int error = forward.run(*params, forward, stream);
  if (error != cudaSuccess || params->splits == 1) return error;
  const sm80::Launch combine = sm80::flash_combine(*params, type);
  return combine.run(*params, combine, stream);
}

// element_type: 0 f16, 1 bf16, 2 f32. Returns a cudaError_t.
int hunch_efficient_forward(const sm80::AttentionParams* params, int element_type, void* stream) {
  const sm80::Launch forward = sm80::efficient_forward(*params, static_cast<sm80::ElementType>(element_type));
  return forward.run(*params, forward, stream);
}
}
