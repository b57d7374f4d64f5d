// The memory-efficient attention backend: one fused kernel that walks each tile of queries over chunks of
// keys with a running maximum and sum, so that no score matrix is ever in memory.
//
// In:  a Call on the CPU, f32, bf16 or f16, any strides, any mask, head_dim up to kMaxHeadDim; or on an
// NVIDIA GPU from sm_80 on, the same types, last strides 1, head_dim up to kMaxCudaHeadDim.
// Out: one kernel launch; the result contiguous [batch, heads, length, value dim], LSE where asked for.
#pragma once

#include "hunch/attention/backend.h"

namespace hunch::attention::efficient {

class EfficientBackend final : public Backend {
 public:
  static constexpr int64_t kMaxHeadDim = 1024;  // on a CPU
  static constexpr int64_t kMaxCudaHeadDim = 256;

  std::string_view name() const override { return "efficient"; }
  std::string_view summary() const override {
    return "memory-efficient attention: one fused kernel, chunks of keys, running maximum and sum";
  }
  std::vector<std::string> refusals(const Call& call) const override;
  base::Result<Output> forward(const Prepared& prepared) const override;
};

}  // namespace hunch::attention::efficient
