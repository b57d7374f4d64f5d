// The flash kernel as C functions, so that a Python script can call it on PyTorch's tensors.
#include "hunch/attention/flash/flash_sm80.h"

namespace sm80 = hunch::attention::sm80;

extern "C" {

// sizeof(FlashParams): the caller's layout must agree.
int hunch_flash_params_size() { return static_cast<int>(sizeof(sm80::FlashParams)); }

int hunch_flash_splits(const sm80::FlashParams* params, int multiprocessors) {
  return sm80::flash_splits(*params, multiprocessors);
}

// element_type: 0 f16, 1 bf16. Returns a cudaError_t.
int hunch_flash_forward(const sm80::FlashParams* params, int element_type, void* stream) {
  return sm80::flash_forward(*params, static_cast<sm80::ElementType>(element_type), stream);
}
}
