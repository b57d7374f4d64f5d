// PyTorch as a provider: the six variants computed by an installed PyTorch, through a plug-in that is opened
// when they are first asked for (plugin.h). Nothing of PyTorch is linked or loaded before.
#pragma once

#include <span>
#include <string>

#include "hunch/attention/backend.h"

namespace hunch::attention::torch {

inline constexpr std::string_view kName = "torch";

// naive, naive_inplace, math, efficient, flash, cudnn. Only for calls after open() succeeded.
std::span<const Backend* const> backends();

// Opens libhunch_torch.so: $HUNCH_TORCH_PLUGIN, or beside the program, or in ../lib/hunch of it. To be called
// before other libraries of CUDA are opened, so that PyTorch finds its own. Out: "PyTorch 2.11.0, CUDA 13.0,
// cuDNN 9.19.0". Error: environment: no plug-in, of another version, or a PyTorch that does not load.
base::Result<std::string> open();

// The plug-in's file, or empty where there is none.
std::string plugin_path();

}  // namespace hunch::attention::torch
