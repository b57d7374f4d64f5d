// SDPA's reference path: everything in f32, the mask made anew at each call, and a softmax that gives zeros
// for fully masked rows. The decomposition is PyTorch's, step by step, so that a trace of it reads alike.
#pragma once

#include "hunch/attention/backend.h"

namespace hunch::attention::math {

class MathBackend final : public Backend {
 public:
  std::string_view name() const override { return "math"; }
  std::string_view summary() const override;
  std::vector<std::string> refusals(const Call& call) const override;
  base::Result<Output> forward(const Prepared& prepared) const override;
};

}  // namespace hunch::attention::math
