// The one check around calls of the CUDA runtime: a call that fails here is a bug or a broken device, so the
// program ends with the runtime's own words. Expected failures (no memory, no device) are looked at before.
#pragma once

namespace hunch::tensor {

// Aborts unless `error`, a cudaError_t, is cudaSuccess.
void check_cuda(int error, const char* call, const char* file, int line);

}  // namespace hunch::tensor

#define HUNCH_CUDA_CHECK(call) ::hunch::tensor::check_cuda(static_cast<int>(call), #call, __FILE__, __LINE__)
