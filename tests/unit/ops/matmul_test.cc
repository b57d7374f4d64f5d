// matmul against a plain double loop: random shapes, layouts, broadcast batches; and what BLAS makes easy to
// get wrong: an empty inner dimension, results in poisoned memory, long inner dimensions cut in blocks.
#include <gtest/gtest.h>

#include "op_testing.h"

namespace hunch::ops::testing {
namespace {

void expect_product(const Tensor& a, const Tensor& b) {
  const Tensor out = matmul(a, b);
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  Shape whole_a = out.shape(), whole_b = out.shape();
  whole_a[-1] = k;
  whole_b[-2] = k;
  ASSERT_EQ(out.size(-2), m);
  ASSERT_EQ(out.size(-1), n);
  const auto values_a = broadcast(a, whole_a), values_b = broadcast(b, whole_b), seen = out.to_doubles();
  const DType dtype = a.dtype();
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t column = i % n, row = i / n, entry = i / n / m;
    double sum = 0, size = 0;
    for (int64_t j = 0; j < k; ++j) {
      const double term = values_a[static_cast<std::size_t>(row * k + j)] *
                          values_b[static_cast<std::size_t>((entry * k + j) * n + column)];
      sum += term;
      size += std::fabs(term);
    }
    // f32 sums lose at most k half-units of the terms' sizes; the result is then rounded once.
    const double bound =
        1.01 * epsilon(dtype) * std::fabs(sum) + static_cast<double>(k + 2) * 0x1p-24 * size + 1e-7;
    ASSERT_NEAR(seen[static_cast<std::size_t>(i)], sum, bound)
        << "element " << i << " of " << a.shape().text() << " x " << b.shape().text() << " "
        << tensor::name_of(dtype);
  }
}

TEST(Matmul, AgainstPlainLoops) {
  for (uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const DType dtype = random.dtype();
    const Shape batch = random.shape(static_cast<int>(random.integer(0, 3)), 3);
    Shape shape_a = random.broadcastable(batch), shape_b = random.integer(0, 1) == 0 ? batch : shape_a;
    const int64_t largest = random.integer(0, 4) == 0 ? 90 : 20;
    const int64_t k = random.integer(0, 9) == 0 ? 0 : random.integer(1, largest);
    shape_a.push_back(random.integer(1, largest));
    shape_a.push_back(k);
    shape_b.push_back(k);
    shape_b.push_back(random.integer(1, largest));
    expect_product(random.tensor(dtype, shape_a, random.layout()),
                   random.tensor(dtype, shape_b, random.layout()));
  }
}

TEST(MatmulEdges, BlocksOfEveryDimension) {
  Random random(7);
  for (const DType dtype : kFloats) {
    expect_product(random.tensor(dtype, {300, 9}), random.tensor(dtype, {9, 40}));
    expect_product(random.tensor(dtype, {3, 9}), random.tensor(dtype, {9, 1100}));
    expect_product(random.tensor(dtype, {3, 2100}), random.tensor(dtype, {5, 2100}).transpose(0, 1));
    expect_product(random.tensor(dtype, {2, 3, 290, 8}), random.tensor(dtype, {2, 1, 8, 530}));
    expect_product(random.tensor(dtype, {40, 9}), random.tensor(dtype, {9, 1}).expand({9, 1100}));
    expect_product(random.tensor(dtype, {2, 33, 2100}, Layout::sliced), random.tensor(dtype, {2100, 3}));
  }
}

TEST(MatmulEdges, EmptyInnerDimensionGivesZeros) {
  for (const DType dtype : kFloats) {
    const Tensor out =
        matmul(Tensor::empty(device(), dtype, {2, 3, 0}), Tensor::empty(device(), dtype, {2, 0, 4}));
    EXPECT_EQ(out.to_doubles(), std::vector<double>(24, 0.0));
  }
}

TEST(MatmulEdges, EmptyResultLaunchesNothing) {
  const Tensor a = Tensor::empty(device(), DType::f32, {0, 3}),
               b = Tensor::empty(device(), DType::f32, {3, 4});
  const Ledger ledger = record([&] { EXPECT_EQ(matmul(a, b).shape(), (Shape{0, 4})); });
  EXPECT_TRUE(ledger.launches.empty());
}

TEST(MatmulEdges, PropagatesNaNAndInfinityFromInputsOnly) {
  const float nan = std::nanf("");
  for (const DType dtype : kFloats) {
    const Tensor a = Tensor::from_floats(device(), dtype, {2, 2}, std::vector<float>{nan, 1, 1, 1});
    const Tensor b = Tensor::from_floats(device(), dtype, {2, 1}, std::vector<float>{2, 3});
    const auto out = matmul(a, b).to_doubles();
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 5.0);
  }
}

// Sums that f32 holds exactly and 16 bits cannot: rounded once at the end, not on the way.
TEST(MatmulEdges, RoundsOnceFromFloat) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const int64_t k = 3000;  // more than one block of the inner dimension
    const std::vector<float> values(static_cast<std::size_t>(k), 1.0F);
    const Tensor a = Tensor::from_floats(device(), dtype, {1, k}, values);
    const Tensor b = Tensor::from_floats(device(), dtype, {k, 1}, values);
    EXPECT_EQ(matmul(a, b).to_doubles()[0], rounded(dtype, 3000.0F));
  }
}

TEST(MatmulEdges, SameResultWithAnyNumberOfWorkers) {
  CpuDevice one(1), four(4);
  Random random(3);
  std::vector<float> values(64 * 700);
  for (float& value : values) value = random.normal();
  const auto product = [&](CpuDevice& cpu) {
    const Tensor a = Tensor::from_floats(cpu, DType::f32, {700, 64}, values);
    return matmul(a, a.transpose(0, 1)).to_floats();
  };
  EXPECT_EQ(product(one), product(four));
}

}  // namespace
}  // namespace hunch::ops::testing
