// PyTorch's element-wise and reducing kernels are one template each: what they do stands in the functor
// among the template arguments. This finds its word ("mul", "masked_fill", "mean") and types.
#pragma once

#include <optional>
#include <string>

#include "hunch/analysis/kernel_names.h"
#include "hunch/analysis/names/parsed_name.h"

namespace hunch::analysis::names {

struct Functor {
  Family family;
  std::string word;   // "mul", "rsqrt", "cast"
  std::string dtype;  // of what it works on; of a cast: the type it makes; empty: not told
  std::string from;   // of a cast: the type it reads, where the name tells
};

// Nothing where the name is not one of those templates.
std::optional<Functor> functor_of(const ParsedName& name);

}  // namespace hunch::analysis::names
