// Tile, pipeline stages, target architecture and the use of Tensor Cores, read from a kernel's name.
//
// A tile is MxN or MxNxK as the name gives it; attention kernels: query rows x key rows [x head_dim].
#pragma once

#include <optional>
#include <string>

#include "hunch/analysis/kernel_names.h"
#include "hunch/analysis/names/parsed_name.h"
#include "hunch/analysis/names/table.h"

namespace hunch::analysis::names {

struct Tile {
  std::string text;  // empty: not told
  std::optional<int> stages;
};

Tile tile_of(const ParsedName& name, Family family);

// "sm_90", "gfx942"; empty: not told. The architecture of the code, not of the device that ran it.
std::string architecture_of(const ParsedName& name);

// From the instruction that the name spells out, else from the row that knows the kernel; only for products,
// convolutions and attention.
std::optional<bool> tensor_cores_of(const ParsedName& name, Family family, std::string_view dtype,
                                    std::string_view architecture, Units row);

}  // namespace hunch::analysis::names
