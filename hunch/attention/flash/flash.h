// The FlashAttention backend: one fused kernel over tiles of queries and of keys and values, with online
// softmax, register-blocked products and normalisation at the end; keys are split where queries are few.
//
// In:  a Call on the CPU, f32, bf16 or f16, any strides, any mask, head_dim up to kMaxHeadDim; or on an
// NVIDIA GPU from sm_80 on, bf16 or f16, last strides 1, head_dim up to kMaxCudaHeadDim.
// Out: one kernel launch; the result contiguous [batch, heads, length, value dim], LSE where asked for.
#pragma once

#include "hunch/attention/backend.h"

namespace hunch::attention::flash {

class FlashBackend final : public Backend {
 public:
  static constexpr int64_t kMaxHeadDim = 256;  // on a CPU
  static constexpr int64_t kMaxCudaHeadDim = 256;

  std::string_view name() const override { return "flash"; }
  std::string_view summary() const override {
    return "FlashAttention: one fused kernel, tiles over queries and keys, online softmax";
  }
  std::vector<std::string> refusals(const Call& call) const override;
  std::optional<KernelNote> kernel(const Call& call) const override;
  base::Result<Output> forward(const Prepared& prepared) const override;
};

}  // namespace hunch::attention::flash
