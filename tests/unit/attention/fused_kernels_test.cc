// The fused CPU kernels on plain pointers, against attention in double straight from the definition: random
// sizes, types, strides, masks, scales and thread counts. All memory that does not belong to an operand is
// NaN, outputs start as NaN, so that reading or leaving out one element too many shows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hunch/attention/efficient/efficient_cpu.h"
#include "hunch/attention/flash/flash_cpu.h"
#include "hunch/attention/tiles/fused_problem.h"

namespace hunch::attention {
namespace {

using tensor::DType;
using tiles::FusedProblem;
using tiles::Strides4;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// A strided operand of a dtype in a buffer that is NaN wherever no element lies.
struct Operand {
  std::vector<std::byte> memory;
  DType dtype = DType::f32;
  Strides4 strides = {};
  int64_t offset = 0;  // elements

  const void* data() const { return memory.data() + offset * static_cast<int64_t>(tensor::size_of(dtype)); }
  int64_t at(int64_t b, int64_t h, int64_t l, int64_t c) const {
    return offset + b * strides[0] + h * strides[1] + l * strides[2] + c * strides[3];
  }
  double get(int64_t index) const {
    const std::byte* from = memory.data() + index * static_cast<int64_t>(tensor::size_of(dtype));
    float f = 0;
    uint16_t bits = 0;
    switch (dtype) {
      case DType::f32:
        std::memcpy(&f, from, sizeof f);
        return f;
      case DType::bf16:
        std::memcpy(&bits, from, sizeof bits);
        return tensor::float_of_bf16(bits);
      case DType::f16:
        std::memcpy(&bits, from, sizeof bits);
        return tensor::float_of_f16(bits);
      default:
        return static_cast<double>(*from);
    }
  }
  void set(int64_t index, float value) {
    std::byte* to = memory.data() + index * static_cast<int64_t>(tensor::size_of(dtype));
    uint16_t bits = 0;
    switch (dtype) {
      case DType::f32:
        std::memcpy(to, &value, sizeof value);
        return;
      case DType::bf16:
        bits = tensor::bf16_of_float(value);
        std::memcpy(to, &bits, sizeof bits);
        return;
      case DType::f16:
        bits = tensor::f16_of_float(value);
        std::memcpy(to, &bits, sizeof bits);
        return;
      default:
        *to = value != 0 ? std::byte{1} : std::byte{0};
    }
  }
};

using Sizes = std::array<int64_t, 4>;

// `order` lists the dimensions from outermost to innermost; `gap` is extra elements after each row.
Operand make_operand(DType dtype, const Sizes& sizes, const std::array<int, 4>& order, int64_t gap) {
  Operand operand;
  operand.dtype = dtype;
  operand.offset = 5;
  int64_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    const auto dim = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    operand.strides[dim] = stride;
    stride = stride * sizes[dim] + gap;
  }
  operand.memory.resize(static_cast<std::size_t>(stride + 40) * tensor::size_of(dtype), std::byte{0xFF});
  return operand;
}

template <class Draw>
void fill(Operand& operand, const Sizes& sizes, Draw draw) {
  for (int64_t b = 0; b < sizes[0]; ++b)
    for (int64_t h = 0; h < sizes[1]; ++h)
      for (int64_t l = 0; l < sizes[2]; ++l)
        for (int64_t c = 0; c < sizes[3]; ++c) operand.set(operand.at(b, h, l, c), draw());
}

struct Case {
  FusedProblem problem;
  Operand query, key, value, mask;
  std::string text;
};

struct Outcome {
  std::vector<std::byte> out;
  std::vector<float> lse;
};

// The definition, in double. Fully masked rows are zero with LSE -inf.
void expect_matches(const Case& test, const Outcome& outcome, const char* kernel) {
  const FusedProblem& p = test.problem;
  Operand out;
  out.dtype = p.dtype;
  out.memory = outcome.out;
  // One rounding to the type, plus float arithmetic on scores of moderate size.
  const double relative = p.dtype == DType::f32 ? 4e-6 : p.dtype == DType::f16 ? 6e-4 : 4.1e-3;
  std::vector<double> weights(static_cast<std::size_t>(p.kv_length));
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads; ++h)
      for (int64_t l = 0; l < p.length; ++l) {
        const int64_t kv = h / p.group();
        double top = -kInf;
        for (int64_t s = 0; s < p.kv_length; ++s) {
          double score = 0;
          for (int64_t c = 0; c < p.head_dim; ++c)
            score += test.query.get(test.query.at(b, h, l, c)) * test.key.get(test.key.at(b, kv, s, c));
          score *= p.scale;
          if (p.causal && s > l) score = -kInf;
          if (p.mask.data != nullptr) {
            const double m = test.mask.get(test.mask.at(b, h, l, s));
            if (p.mask.dtype == DType::boolean) {
              if (m == 0) score = -kInf;
            } else {
              score += m;
            }
          }
          weights[static_cast<std::size_t>(s)] = score;
          top = std::max(top, score);
        }
        double sum = 0;
        for (double& w : weights) sum += w = top == -kInf ? 0 : std::exp(w - top);
        const int64_t row = (b * p.heads + h) * p.length + l;
        if (p.lse != nullptr) {
          const double lse = sum == 0 ? -kInf : top + std::log(sum);
          const double seen = outcome.lse[static_cast<std::size_t>(row)];
          if (sum == 0) {
            ASSERT_EQ(seen, lse) << kernel << " lse " << test.text;
          } else if (lse < -2e38) {  // a mask of the lowest floats: held at that over log2(e)
            ASSERT_TRUE(std::isfinite(seen) && seen < -2e38) << kernel << " lse " << test.text;
          } else {
            ASSERT_NEAR(seen, lse, 2e-5 + 2e-6 * std::abs(lse)) << kernel << " lse " << test.text;
          }
        }
        for (int64_t c = 0; c < p.value_dim; ++c) {
          double expected = 0, magnitude = 0;
          for (int64_t s = 0; s < p.kv_length; ++s) {
            const double w = weights[static_cast<std::size_t>(s)];
            if (w == 0) continue;
            const double term = w / sum * test.value.get(test.value.at(b, kv, s, c));
            expected += term;
            magnitude += std::abs(term);
          }
          const double seen = out.get(row * p.value_dim + c);
          if (sum == 0) {
            ASSERT_EQ(seen, 0.0) << kernel << " empty row " << test.text;
          } else {
            ASSERT_NEAR(seen, expected, relative * std::abs(expected) + 2e-5 * magnitude + 1e-7)
                << kernel << " at " << b << "," << h << "," << l << "," << c << ": " << test.text;
          }
        }
      }
}

enum class Kernel { efficient, flash };

Outcome run(const Case& test, Kernel kernel, int threads) {
  FusedProblem p = test.problem;
  Outcome outcome;
  const auto rows = static_cast<std::size_t>(p.batch * p.heads * p.length);
  outcome.out.assign(rows * static_cast<std::size_t>(p.value_dim) * tensor::size_of(p.dtype),
                     std::byte{0xFF});
  outcome.lse.assign(rows, kNan);
  p.out = outcome.out.data();
  if (p.lse != nullptr) p.lse = outcome.lse.data();
  base::ThreadPool pool(threads);
  if (kernel == Kernel::efficient) {
    efficient::efficient_attention(p, pool);
  } else {
    const flash::FlashPlan plan = flash::make_plan(p, flash::panel_rows());
    const auto floats = static_cast<std::size_t>(plan.workspace_floats(p));
    std::vector<float> memory(floats + 16, kNan);
    void* start = memory.data();
    std::size_t space = memory.size() * sizeof(float);
    std::align(64, floats * sizeof(float), start, space);
    flash::flash_attention(p, plan, static_cast<float*>(start), pool);
  }
  return outcome;
}

struct Limits {
  int64_t length = 130, kv_length = 130, head_dim = 80;
};

Case make_case(uint64_t seed, const Limits& limits) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::normal_distribution<float> normal;
  Case test;
  FusedProblem& p = test.problem;
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};
  p.dtype = kTypes[pick(0, 2)];
  p.batch = pick(1, 2);
  p.kv_heads = pick(1, 2);
  p.heads = p.kv_heads * pick(1, 3);
  p.length = pick(0, 3) == 0 ? pick(1, 3) : pick(1, limits.length);
  p.kv_length = pick(0, 15) == 0 ? pick(0, 2) : pick(1, limits.kv_length);
  p.head_dim = pick(0, 2) == 0 ? pick(1, 9) : pick(1, limits.head_dim);
  p.value_dim = pick(0, 3) == 0 ? pick(1, limits.head_dim) : p.head_dim;
  constexpr double kScales[] = {0, -0.3, 1, 0.125, 0.5};
  p.scale = pick(0, 1) == 0 ? 1 / std::sqrt(static_cast<double>(p.head_dim)) : kScales[pick(0, 4)];

  constexpr std::array<int, 4> kOrders[] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {0, 1, 3, 2}};
  const auto operand = [&](const Sizes& sizes) {
    Operand made = make_operand(p.dtype, sizes, kOrders[pick(0, 3)], pick(0, 1) * pick(0, 7));
    fill(made, sizes, [&] { return normal(random); });
    return made;
  };
  test.query = operand({p.batch, p.heads, p.length, p.head_dim});
  test.key = operand({p.batch, p.kv_heads, p.kv_length, p.head_dim});
  test.value = operand({p.batch, p.kv_heads, p.kv_length, p.value_dim});
  p.query = test.query.data();
  p.key = test.key.data();
  p.value = test.value.data();
  p.query_strides = test.query.strides;
  p.key_strides = test.key.strides;
  p.value_strides = test.value.strides;

  const int64_t mask = pick(0, 4);
  p.causal = mask == 1 || mask == 2;
  if (mask >= 3) {
    constexpr DType kMasks[] = {DType::boolean, DType::f32, DType::bf16, DType::f16};
    const DType dtype = kMasks[mask == 3 ? 0 : pick(1, 3)];
    Sizes sizes = {p.batch, p.heads, p.length, p.kv_length};
    for (std::size_t dim = 0; dim < 3; ++dim)
      if (pick(0, 1) == 0) sizes[dim] = 1;
    test.mask = make_operand(dtype, sizes, kOrders[pick(0, 3)], pick(0, 1) * pick(0, 7));
    const bool lowest = pick(0, 2) == 0;
    const bool sparse = pick(0, 3) == 0;  // many rows with nothing to attend
    fill(test.mask, sizes, [&] {
      const bool hide = sparse ? pick(0, p.kv_length) > 0 : pick(0, 3) == 0;
      if (dtype == DType::boolean) return hide ? 0.0f : 1.0f;
      if (!hide) return normal(random);
      // Masks made of the lowest finite value must not become infinite on the way.
      return lowest ? (dtype == DType::f16 ? -65504.0f : -3.38e38f) : -std::numeric_limits<float>::infinity();
    });
    for (std::size_t dim = 0; dim < 3; ++dim)
      if (sizes[dim] == 1) test.mask.strides[dim] = 0;
    p.mask = {test.mask.data(), dtype, test.mask.strides};
  }
  static float wanted;
  p.lse = pick(0, 1) == 0 ? &wanted : nullptr;
  test.text = "seed " + std::to_string(seed) + ": " + std::to_string(p.batch) + "x" +
              std::to_string(p.heads) + "/" + std::to_string(p.kv_heads) + "x" + std::to_string(p.length) +
              "/" + std::to_string(p.kv_length) + "x" + std::to_string(p.head_dim) + "/" +
              std::to_string(p.value_dim) + " " + std::string(tensor::name_of(p.dtype)) + " mask " +
              std::to_string(mask) + " scale " + std::to_string(p.scale);
  return test;
}

TEST(FusedKernels, MatchTheDefinitionOnRandomProblems) {
  for (uint64_t seed = 0; seed < 160; ++seed) {
    const Case test = make_case(seed, Limits{});
    for (const Kernel kernel : {Kernel::efficient, Kernel::flash}) {
      const char* name = kernel == Kernel::flash ? "flash" : "efficient";
      expect_matches(test, run(test, kernel, 1 + static_cast<int>(seed % 3)), name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FusedKernels, MatchTheDefinitionAtLargeHeadDim) {
  for (uint64_t seed = 1000; seed < 1016; ++seed) {
    const Case test = make_case(seed, Limits{30, 300, 256});
    for (const Kernel kernel : {Kernel::efficient, Kernel::flash}) {
      expect_matches(test, run(test, kernel, 2), kernel == Kernel::flash ? "flash" : "efficient");
      if (HasFatalFailure()) return;
    }
  }
}

// Few queries and many keys: flash cuts the keys into parts.
TEST(FusedKernels, MatchTheDefinitionWhereKeysAreSplit) {
  int split = 0;
  for (uint64_t seed = 2000; seed < 2024; ++seed) {
    const Case test = make_case(seed, Limits{2, 6000, 24});
    split += flash::make_plan(test.problem, flash::panel_rows()).splits > 1;
    expect_matches(test, run(test, Kernel::flash, 2), "flash");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(split, 5);
}

TEST(FusedKernels, SameBitsWithAnyNumberOfThreads) {
  for (uint64_t seed = 3000; seed < 3020; ++seed) {
    const Case test = make_case(seed, Limits{150, 3000, 40});
    for (const Kernel kernel : {Kernel::efficient, Kernel::flash}) {
      const Outcome one = run(test, kernel, 1);
      for (const int threads : {1, 2, 5}) {
        const Outcome other = run(test, kernel, threads);
        ASSERT_EQ(one.out, other.out) << test.text;
        ASSERT_EQ(std::memcmp(one.lse.data(), other.lse.data(), one.lse.size() * sizeof(float)), 0)
            << test.text;
      }
    }
  }
}

// A NaN score poisons its row and no other; so does an infinite key for rows that attend to it.
TEST(FusedKernels, NanStaysInItsRow) {
  Case test = make_case(4000, Limits{});
  FusedProblem& p = test.problem;
  p = FusedProblem{};
  p.batch = p.heads = p.kv_heads = 1;
  p.length = p.kv_length = 40;
  p.head_dim = p.value_dim = 16;
  p.causal = true;
  p.scale = 0.25;
  const Sizes sizes = {1, 1, 40, 16};
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (Operand* operand : {&test.query, &test.key, &test.value}) {
    *operand = make_operand(DType::f32, sizes, {0, 1, 2, 3}, 0);
    fill(*operand, sizes, [&] { return normal(random); });
  }
  test.query.set(test.query.at(0, 0, 7, 3), kNan);
  test.key.set(test.key.at(0, 0, 30, 2), kNan);
  p.query = test.query.data();
  p.key = test.key.data();
  p.value = test.value.data();
  p.query_strides = p.key_strides = p.value_strides = test.query.strides;
  for (const Kernel kernel : {Kernel::efficient, Kernel::flash}) {
    const Outcome outcome = run(test, kernel, 2);
    const auto* out = reinterpret_cast<const float*>(outcome.out.data());
    for (int row = 0; row < 40; ++row)
      for (int c = 0; c < 16; ++c)
        EXPECT_EQ(std::isnan(out[row * 16 + c]), row == 7 || row >= 30) << "row " << row;
  }
}

TEST(FusedKernels, EmptyProblemsDoNothing) {
  base::ThreadPool pool(2);
  for (const bool no_batch : {true, false}) {
    FusedProblem p;
    p.heads = p.kv_heads = 1;
    p.head_dim = p.value_dim = 8;
    p.batch = no_batch ? 0 : 1;
    p.length = no_batch ? 4 : 0;
    p.kv_length = 4;
    efficient::efficient_attention(p, pool);
    const flash::FlashPlan plan = flash::make_plan(p, flash::panel_rows());
    EXPECT_EQ(plan.items, 0);
    flash::flash_attention(p, plan, nullptr, pool);
  }
}

}  // namespace
}  // namespace hunch::attention
