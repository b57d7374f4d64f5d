// libhunch_inject.so: what `hunch record` has the CUDA driver and NVTX load into a program
// (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH). These two functions are all that it shows.
#include <cstdint>

#include "hunch/inject/nvtx.h"
#include "hunch/inject/session.h"

#define HUNCH_SHOWN extern "C" __attribute__((visibility("default")))

// By the driver, within the program's first use of it. The driver is not stopped by anything here: always 1.
HUNCH_SHOWN int InitializeInjection() {
  hunch::inject::prepare_for_forks();
  hunch::inject::start_session();
  return 1;
}

// By each copy of NVTX in the program, at its first use. 0: ranges go nowhere.
HUNCH_SHOWN int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t)) {
  if (hunch::inject::spool_folder() == nullptr) return 0;
  hunch::inject::prepare_for_forks();
  return hunch::inject::attach_nvtx(get_export_table) ? 1 : 0;
}
