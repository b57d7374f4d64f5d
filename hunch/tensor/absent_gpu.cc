#include "hunch/tensor/absent_gpu.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <new>
#include <string_view>

namespace hunch::tensor {
namespace {

struct Product {
  int compute;
  std::string_view name;
  int multiprocessors;
};

// The data centre's product of each architecture, as NVIDIA's data sheets have it.
constexpr std::array<Product, 7> kProducts = {{
    {70, "V100", 80},
    {75, "T4", 40},
    {80, "A100", 108},
    {86, "A40", 84},
    {89, "L40S", 142},
    {90, "H100 SXM", 132},
    {100, "B200", 148},
}};

}  // namespace

AbsentGpu::AbsentGpu(int compute) {
  info_.kind = DeviceKind::cuda;
  info_.name = fmt::format("sm_{}", compute);
  info_.compute_major = compute / 10;
  info_.compute_minor = compute % 10;
  for (const Product& product : kProducts) {
    if (product.compute != compute) continue;
    info_.name += fmt::format(" ({})", product.name);
    info_.multiprocessors = product.multiprocessors;
  }
}

void* AbsentGpu::allocate(std::size_t) { throw std::bad_alloc(); }

int64_t AbsentGpu::available_bytes() const { return std::numeric_limits<int64_t>::max(); }

}  // namespace hunch::tensor
