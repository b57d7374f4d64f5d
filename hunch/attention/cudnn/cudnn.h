// cuDNN's attention: one generated kernel for each problem, on NVIDIA GPUs. On a CPU it refuses, and says
// what else would stand in its way, so that a reader learns whether a GPU would help.
#pragma once

#include "hunch/attention/backend.h"

namespace hunch::attention::cudnn {

class CudnnBackend final : public Backend {
 public:
  std::string_view name() const override { return "cudnn"; }
  std::string_view summary() const override;
  std::vector<std::string> refusals(const Call& call) const override;
  base::Result<Output> forward(const Prepared& prepared) const override;
};

}  // namespace hunch::attention::cudnn
