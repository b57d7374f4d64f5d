// The table of providers. Adding one is its folder and one line here; `hunch run --provider`, the names of
// variants and `hunch doctor` take up whatever stands here.
#include "hunch/attention/providers.h"

#include "hunch/attention/torch/torch.h"

namespace hunch::attention {

std::span<const Provider> providers() {
  static const Provider kProviders[] = {
      {kNative, "hunch's own backends", backends, [] { return base::Result<std::string>(std::string()); }},
      {torch::kName, "PyTorch's attention, by libtorch", torch::backends, torch::open},
  };
  return kProviders;
}

const Provider* find_provider(std::string_view name) {
  for (const Provider& provider : providers())
    if (provider.name == name) return &provider;
  return nullptr;
}

const Backend* find_variant(std::string_view name) {
  for (const Provider& provider : providers())
    for (const Backend* backend : provider.backends())
      if (variant_name(*backend) == name) return backend;
  return nullptr;
}

}  // namespace hunch::attention
