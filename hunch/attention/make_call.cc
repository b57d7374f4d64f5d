// Inputs for a problem, from a seed: what the laboratory runs and the unit tests use.
// In:  a device, a validated Problem, a seed. Out: a Call whose tensors are on the device and dense.
// Holds: the same seed gives the same bits, whatever the mask kind and whatever was made before; every row of
// a mask keeps at least one pair, so no output is zero by accident.
#include <cmath>
#include <limits>
#include <random>

#include "hunch/attention/problem.h"
#include "hunch/base/check.h"

namespace hunch::attention {
namespace {

using tensor::Shape;
using tensor::Tensor;

// One generator a tensor, so that the values of one do not depend on the size of another.
std::mt19937_64 generator(uint64_t seed, uint64_t which) {
  std::seed_seq mixed{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                      static_cast<uint32_t>(which)};
  return std::mt19937_64(mixed);
}

Tensor normal(tensor::Device& device, tensor::DType dtype, const Shape& shape, std::mt19937_64 random) {
  std::normal_distribution<float> distribution(0.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (auto& value : values) value = distribution(random);
  return Tensor::from_floats(device, dtype, shape, values);
}

// Boolean: 1 keeps a pair. Float: normal, -inf where the boolean mask would hide.
Tensor random_mask(tensor::Device& device, const Problem& problem, std::mt19937_64 random) {
  const bool boolean = problem.mask == MaskKind::boolean;
  const int64_t rows = problem.length;
  const int64_t columns = problem.kv_length;
  std::normal_distribution<float> distribution(0.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t kept = columns == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(columns));
    for (int64_t column = 0; column < columns; ++column) {
      const bool keep = column == kept || (random() >> 62) != 0;  // 3 in 4
      const float value = boolean ? 1.0F : distribution(random);
      const float hidden = boolean ? 0.0F : -std::numeric_limits<float>::infinity();
      values[static_cast<std::size_t>(row * columns + column)] = keep ? value : hidden;
    }
  }
  return Tensor::from_floats(device, boolean ? tensor::DType::boolean : problem.dtype, {rows, columns},
                             values);
}

}  // namespace

Call make_call(tensor::Device& device, const Problem& problem, uint64_t seed) {
  HUNCH_CHECK(validate(problem).has_value(), "make_call needs a valid problem");
  const Problem& p = problem;
  Call call;
  call.query = normal(device, p.dtype, {p.batch, p.heads, p.length, p.head_dim}, generator(seed, 0));
  call.key = normal(device, p.dtype, {p.batch, p.kv_heads, p.kv_length, p.head_dim}, generator(seed, 1));
  call.value = normal(device, p.dtype, {p.batch, p.kv_heads, p.kv_length, p.head_dim}, generator(seed, 2));
  call.is_causal = p.mask == MaskKind::causal;
  if (p.mask == MaskKind::boolean || p.mask == MaskKind::floating)
    call.mask = random_mask(device, p, generator(seed, 3));
  call.window = p.window;
  call.scale = p.scale;
  call.softcap = p.softcap;
  call.enable_gqa = p.heads != p.kv_heads;
  return call;
}

}  // namespace hunch::attention
