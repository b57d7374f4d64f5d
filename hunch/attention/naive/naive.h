// Attention by hand, as people write it first: matmul, mul, masked_fill, softmax, matmul, each out of place.
// NaiveInplaceBackend is the same with masked_fill_. The mask is built once, in prepare(). Grouped heads are
// repeated inside the forward, as repeat_kv does. Fully masked rows give NaN: that is what the formula says.
#pragma once

#include "hunch/attention/backend.h"

namespace hunch::attention::naive {

class NaiveBackend : public Backend {
 public:
  std::string_view name() const override { return "naive"; }
  std::string_view summary() const override;
  std::vector<std::string> refusals(const Call& call) const override;
  bool by_hand() const override { return true; }
  Prepared prepare(const Call& call) const override;
  base::Result<Output> forward(const Prepared& prepared) const override;
};

class NaiveInplaceBackend final : public NaiveBackend {
 public:
  std::string_view name() const override { return "naive_inplace"; }
  std::string_view summary() const override;
  base::Result<Output> forward(const Prepared& prepared) const override;
};

}  // namespace hunch::attention::naive
