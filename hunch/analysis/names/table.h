// The ordered tables of known names: the first row that matches gives the family and, where the name alone
// settles them, the other facts. More exact rows come first; general words come last.
//
// Families that hold more than their word says: index also sorts and searches; reduction also scans, losses
// and pooling; random also samples; copy also changes layouts; quantize works both ways; matmul_other
// finishes a product that was split. What fits none of them ("spin") is unknown, with its name told.
//
// Adding a kernel: one row in the table of its kind, one line in tests/data/kernel_names.tsv.
#pragma once

#include <span>
#include <string_view>

#include "hunch/analysis/kernel_names.h"
#include "hunch/analysis/names/pattern.h"

namespace hunch::analysis::names {

enum class Units { not_told, tensor_cores, plain };  // what multiplies, where the row settles it

struct Row {
  Part part;
  std::string_view pattern;
  Family family;
  std::string_view label;          // for people; empty: the kernel's own name
  std::string_view provider = {};  // empty: providers.cc decides
  std::string_view backend = {};   // attention only
  Units units = Units::not_told;
};

// In the order in which they are asked.
std::span<const Row> memory_rows();     // copies and memsets as profilers name them
std::span<const Row> generated_rows();  // hunch's own kernels, and those that TorchInductor writes
std::span<const Row> cache_rows();      // kernels of serving that speak of attention and are none
std::span<const Row> attention_rows();
std::span<const Row> communication_rows();
std::span<const Row> convolution_rows();
std::span<const Row> matmul_rows();
std::span<const Row> general_rows();

// The first row that matches, or null.
const Row* find_row(std::span<const Row> rows, const ParsedName& name);

// Who wrote the kernel, as far as its name tells: "pytorch", "cublas", "cudnn", ...; or empty.
std::string_view provider_of(const ParsedName& name);

}  // namespace hunch::analysis::names
