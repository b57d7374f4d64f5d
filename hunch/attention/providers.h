// Providers: who computes. hunch's own backends are the provider "native"; another provider is a library that
// brings attention of its own, run beside ours on the same tensors. Adding one is a folder here, and a line
// in providers.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hunch/attention/backend.h"

namespace hunch::attention {

struct Provider {
  std::string_view name;     // "torch"
  std::string_view summary;  // one line for help and doctor
  // Its backends in the order of tables, known before the library is opened; they may be called after.
  std::span<const Backend* const> (*backends)();
  // Opens the library, once; before any other library of CUDA, so that it finds those that it was made with.
  // Out: its name and versions for people, "PyTorch 2.11.0, CUDA 13.0"; empty where
  // there is nothing to tell. Error: environment: what is missing, and what to do about it.
  base::Result<std::string> (*open)();
};

// All of them; native first.
std::span<const Provider> providers();
// By name, or null.
const Provider* find_provider(std::string_view name);

// By what variant_name() says: "flash" is hunch's own, "torch.flash" is PyTorch's. Null where there is none.
const Backend* find_variant(std::string_view name);

}  // namespace hunch::attention
