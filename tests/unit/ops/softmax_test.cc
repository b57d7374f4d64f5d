// softmax against the formula in double, and its special rows: -inf in part, -inf alone, NaN, infinity.
#include <gtest/gtest.h>

#include <limits>

#include "op_testing.h"

namespace hunch::ops::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

void expect_softmax(const Tensor& x) {
  const auto in = x.to_doubles(), out = softmax(x).to_doubles();
  const auto length = static_cast<std::size_t>(x.size(-1));
  ASSERT_EQ(in.size(), out.size());
  for (std::size_t row = 0; row < in.size(); row += length) {
    double most = -kInf, sum = 0;
    for (std::size_t i = 0; i < length; ++i) most = std::max(most, in[row + i]);
    for (std::size_t i = 0; i < length; ++i) sum += std::exp(in[row + i] - most);
    for (std::size_t i = 0; i < length; ++i) {
      const double expected = std::exp(in[row + i] - most) / sum;
      // Float arithmetic inside (the difference, exp, the sum, the division), one rounding outside.
      const double bound =
          expected * (1e-6 + 1.01 * epsilon(x.dtype())) + (x.dtype() == DType::f16 ? 0x1p-25 : 0x1p-126);
      ASSERT_NEAR(out[row + i], expected, bound) << "row " << row / length << ", element " << i;
    }
  }
}

TEST(Softmax, AgainstTheFormula) {
  for (uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Shape shape = random.shape(static_cast<int>(random.integer(0, 3)), 6);
    shape.push_back(random.integer(1, random.integer(0, 5) == 0 ? 1500 : 70));
    expect_softmax(random.tensor(random.dtype(), shape, random.layout()));
  }
}

TEST(SoftmaxRows, ManyRowsOverManyTiles) {
  Random random(5);
  for (const DType dtype : kFloats) expect_softmax(random.tensor(dtype, {700, 131}));
}

TEST(SoftmaxRows, LargeScoresDoNotOverflow) {
  for (const DType dtype : kFloats) {
    std::vector<float> values;
    for (int i = 0; i < 37; ++i) values.push_back(static_cast<float>(50 * i));
    expect_softmax(Tensor::from_floats(device(), dtype, {37}, values));
  }
}

TEST(SoftmaxRows, MaskedPairsGetExactlyZero) {
  for (const DType dtype : kFloats) {
    std::vector<float> values(33, -kInf);
    values[3] = 1.0F;
    values[32] = 1.0F;
    const auto out = softmax(Tensor::from_floats(device(), dtype, {33}, values)).to_doubles();
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], i == 3 || i == 32 ? 0.5 : 0.0);
  }
}

TEST(SoftmaxRows, FullyMaskedRowIsNaNAndItsNeighboursAreNot) {
  for (const DType dtype : kFloats) {
    for (const int64_t length : {int64_t{1}, int64_t{7}, int64_t{64}, int64_t{1033}}) {
      std::vector<float> values(static_cast<std::size_t>(3 * length), 0.0F);
      std::fill_n(values.begin() + length, length, -kInf);
      const auto out = softmax(Tensor::from_floats(device(), dtype, {3, length}, values)).to_doubles();
      for (int64_t i = 0; i < 3 * length; ++i)
        EXPECT_EQ(std::isnan(out[static_cast<std::size_t>(i)]), i / length == 1) << i;
    }
  }
}

TEST(SoftmaxRows, NaNAndPositiveInfinityMakeTheWholeRowNaN) {
  for (const float bad : {std::nanf(""), kInf})
    for (const std::size_t where : {std::size_t{0}, std::size_t{17}, std::size_t{49}}) {
      std::vector<float> values(50, 0.25F);
      values[where] = bad;
      for (const double value : softmax(Tensor::from_floats(device(), DType::f32, {50}, values)).to_doubles())
        EXPECT_TRUE(std::isnan(value));
    }
}

TEST(SoftmaxRows, EmptyLaunchesNothing) {
  const Tensor rows = Tensor::empty(device(), DType::f32, {0, 5}),
               columns = Tensor::empty(device(), DType::f32, {5, 0});
  const Ledger ledger = record([&] {
    softmax(rows);
    softmax(columns);
  });
  EXPECT_TRUE(ledger.launches.empty());
}

}  // namespace
}  // namespace hunch::ops::testing
