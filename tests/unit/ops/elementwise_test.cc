// Every op but matmul and softmax against plain loops, bit for bit: over random shapes, dtypes, broadcasts
// and layouts, with poisoned results.
#include <gtest/gtest.h>

#include <limits>

#include "op_testing.h"

namespace hunch::ops::testing {
namespace {

constexpr uint64_t kRounds = 60;
constexpr float kInf = std::numeric_limits<float>::infinity();

// NaNs are equal to NaNs here.
void expect_same(const Tensor& out, const std::vector<double>& expected) {
  const std::vector<double> seen = out.to_doubles();
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i)
    ASSERT_TRUE(seen[i] == expected[i] || (std::isnan(seen[i]) && std::isnan(expected[i])))
        << "element " << i << " of " << out.shape().text() << ": " << seen[i] << ", expected " << expected[i];
}

float narrow(double value) { return static_cast<float>(value); }

class Elementwise : public ::testing::Test {
 protected:
  // Runs `body` with another seed and shape each round, until one fails.
  template <class Body>
  void each(const Body& body) {
    for (uint64_t seed = 0; seed < kRounds && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      random = Random(seed);
      shape = random.shape(static_cast<int>(random.integer(0, 5)), random.integer(0, 3) == 0 ? 40 : 7);
      body();
    }
  }

  Random random{0};
  Shape shape;
};

TEST_F(Elementwise, Mul) {
  each([&] {
    const DType dtype = random.dtype();
    const Tensor x = random.tensor(dtype, shape, random.layout());
    const double factor = random.normal();
    std::vector<double> expected = x.to_doubles();
    for (double& value : expected) value = rounded(dtype, narrow(value) * narrow(factor));
    const Tensor out = mul(x, factor);
    EXPECT_EQ(out.dtype(), dtype);
    EXPECT_TRUE(out.is_contiguous());
    expect_same(out, expected);
  });
}

TEST_F(Elementwise, AddBroadcastsAndWidens) {
  each([&] {
    const DType dtype_a = random.dtype(), dtype_b = random.dtype();
    const Tensor a = random.tensor(dtype_a, shape, random.layout());
    const Tensor b = random.tensor(dtype_b, random.broadcastable(shape), random.layout());
    const DType wide = dtype_a == dtype_b ? dtype_a : DType::f32;
    const auto values_a = broadcast(a, shape), values_b = broadcast(b, shape);
    std::vector<double> expected;
    for (std::size_t i = 0; i < values_a.size(); ++i)
      expected.push_back(rounded(wide, narrow(values_a[i]) + narrow(values_b[i])));
    const Tensor out = random.integer(0, 1) == 0 ? add(a, b) : add(b, a);
    EXPECT_EQ(out.dtype(), wide);
    EXPECT_EQ(out.shape(), shape);
    expect_same(out, expected);
  });
}

TEST_F(Elementwise, Cast) {
  each([&] {
    constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};
    const Tensor x = random.tensor(random.one_of(kAll), shape, random.layout());
    const DType to = random.one_of(kAll);
    std::vector<double> expected = x.to_doubles();
    for (double& value : expected) value = rounded(to, narrow(value));
    const Tensor out = cast(x, to);
    EXPECT_EQ(out.dtype(), to);
    expect_same(out, expected);
  });
}

TEST_F(Elementwise, CopiesKeepEveryBit) {
  each([&] {
    constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};
    const Tensor x = random.tensor(random.one_of(kAll), shape, random.layout());
    const auto expected = x.to_doubles();
    const Tensor cloned = clone(x);
    EXPECT_TRUE(cloned.is_contiguous());
    EXPECT_NE(cloned.data(), x.data());
    expect_same(cloned, expected);
    const Tensor dense = contiguous(x);
    EXPECT_TRUE(dense.is_contiguous());
    EXPECT_EQ(dense.data() == x.data(), x.is_contiguous());
    expect_same(dense, expected);
  });
}

TEST_F(Elementwise, CopyIntoAViewWritesThatViewOnly) {
  each([&] {
    const DType dtype = random.dtype();
    Shape larger = shape;
    for (int dim = 0; dim < shape.rank(); ++dim) larger[dim] = shape[dim] * 2 + 1;
    const Tensor base = full(device(), dtype, larger, 7.0);
    Tensor target = base;
    for (int dim = 0; dim < shape.rank(); ++dim)
      target = random.integer(0, 1) == 0 ? target.slice(dim, 1, 1 + shape[dim])
                                         : target.slice(dim, 0, 2 * shape[dim], 2);
    if (shape.rank() >= 2 && random.integer(0, 1) == 0) target = target.transpose(-1, -2);
    const Tensor source =
        random.tensor(random.dtype(), random.broadcastable(target.shape()), random.layout());
    std::vector<double> expected = broadcast(source, target.shape());
    double sum = 7.0 * static_cast<double>(base.numel() - target.numel());
    for (double& value : expected) sum += value = rounded(dtype, narrow(value));
    copy_(target, source);
    expect_same(target, expected);
    double seen = 0;
    for (const double value : base.to_doubles()) seen += value;
    EXPECT_NEAR(seen, sum, 1e-9 * (std::fabs(sum) + 7.0 * static_cast<double>(base.numel())));
  });
}

TEST_F(Elementwise, MaskedFill) {
  each([&] {
    constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};
    const DType dtype = random.one_of(kAll);
    const double value = random.integer(0, 1) == 0 ? -kInf : random.normal();
    const Tensor x = random.tensor(dtype, shape, random.layout());
    const Tensor mask = random.tensor(DType::boolean, random.broadcastable(shape), random.layout());
    const auto before = x.to_doubles(), hidden = broadcast(mask, shape);
    std::vector<double> expected = before;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (hidden[i] != 0) expected[i] = rounded(dtype, narrow(value));
    expect_same(masked_fill(x, mask, value), expected);
    expect_same(x, before);
    const Tensor target = clone(x);
    masked_fill_(target, mask, value);
    expect_same(target, expected);
    if (shape.rank() < 2) return;
    const Tensor strided = clone(x.transpose(0, 1)).transpose(0, 1);  // in place through a view
    masked_fill_(strided, mask, value);
    expect_same(strided, expected);
  });
}

TEST_F(Elementwise, Where) {
  each([&] {
    constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};
    const DType dtype = random.one_of(kAll);
    const Tensor condition = random.tensor(DType::boolean, random.broadcastable(shape), random.layout());
    const Tensor a = random.tensor(dtype, random.broadcastable(shape), random.layout());
    const Tensor b = random.tensor(dtype, shape, random.layout());
    const auto choose = broadcast(condition, shape), values_a = broadcast(a, shape),
               values_b = broadcast(b, shape);
    std::vector<double> expected;
    for (std::size_t i = 0; i < choose.size(); ++i)
      expected.push_back(choose[i] != 0 ? values_a[i] : values_b[i]);
    expect_same(where(condition, a, b), expected);
  });
}

TEST_F(Elementwise, IsNegInf) {
  each([&] {
    const DType dtype = random.dtype();
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    const float choices[] = {-kInf, kInf, std::nanf(""), 0.0F, -1.0F, -65504.0F};
    for (float& value : values) value = random.one_of(choices);
    Tensor x = Tensor::from_floats(device(), dtype, shape, values);
    if (shape.rank() >= 2) x = x.transpose(0, -1);
    std::vector<double> expected = x.to_doubles();
    for (double& value : expected) value = value == -kInf;
    const Tensor out = is_neg_inf(x);
    EXPECT_EQ(out.dtype(), DType::boolean);
    expect_same(out, expected);
  });
}

TEST_F(Elementwise, All) {
  each([&] {
    shape.push_back(random.integer(0, 9) * (random.integer(0, 4) == 0 ? 300 : 1));
    const Tensor x = random.tensor(DType::boolean, shape, random.layout());
    const auto values = x.to_doubles();
    const auto length = static_cast<std::size_t>(shape[-1]);
    Shape reduced = shape;
    reduced[-1] = 1;
    std::vector<double> expected;
    for (int64_t row = 0; row < reduced.numel(); ++row) {
      double whole = 1;
      for (std::size_t i = 0; i < length; ++i)
        whole = std::min(whole, values[static_cast<std::size_t>(row) * length + i]);
      expected.push_back(whole);
    }
    const Tensor out = all(x);
    EXPECT_EQ(out.shape(), reduced);
    expect_same(out, expected);
  });
}

TEST_F(Elementwise, Tril) {
  each([&] {
    constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};
    while (shape.rank() < 2) shape.push_back(random.integer(1, 20));
    const Tensor x = random.tensor(random.one_of(kAll), shape, random.layout());
    std::vector<double> expected = x.to_doubles();
    const int64_t rows = shape[-2], columns = shape[-1];
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const int64_t column = static_cast<int64_t>(i) % columns,
                    row = static_cast<int64_t>(i) / columns % rows;
      if (column > row) expected[i] = 0;
    }
    expect_same(tril(x), expected);
  });
}

TEST_F(Elementwise, RepeatHeads) {
  each([&] {
    while (shape.rank() < 2) shape.push_back(random.integer(1, 4));
    const int64_t times = random.integer(1, 4);
    const Tensor x = random.tensor(random.dtype(), shape, random.layout());
    const auto values = x.to_doubles();
    int64_t inner = 1;
    for (int dim = 2; dim < shape.rank(); ++dim) inner *= shape[dim];
    std::vector<double> expected;
    for (int64_t batch = 0; batch < shape[0]; ++batch)
      for (int64_t head = 0; head < shape[1] * times; ++head)
        for (int64_t i = 0; i < inner; ++i)
          expected.push_back(values[static_cast<std::size_t>((batch * shape[1] + head / times) * inner + i)]);
    const Tensor out = repeat_heads(x, times);
    EXPECT_EQ(out.size(1), shape[1] * times);
    expect_same(out, expected);
  });
}

TEST_F(Elementwise, Fills) {
  each([&] {
    constexpr DType kAll[] = {DType::f32, DType::bf16, DType::f16, DType::boolean};
    const DType dtype = random.one_of(kAll);
    const double value = random.normal();
    const auto count = static_cast<std::size_t>(shape.numel());
    expect_same(ones(device(), dtype, shape), std::vector<double>(count, 1.0));
    expect_same(full(device(), dtype, shape, value),
                std::vector<double>(count, rounded(dtype, narrow(value))));
  });
}

// More than one tile, tails behind the last full vector, and rows that a tile's border cuts.
TEST(ElementwiseLarge, CrossesTiles) {
  Random random(99);
  for (const DType dtype : kFloats) {
    const Shape shape = {3, 331, 211};
    const Tensor x = random.tensor(dtype, shape, Layout::transposed);
    const Tensor mask = random.tensor(DType::boolean, {331, 211});
    const auto values = x.to_doubles(), hidden = broadcast(mask, shape);
    std::vector<double> expected = values;
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = hidden[i] != 0 ? -kInf : rounded(dtype, narrow(values[i]) * 0.125F);
    expect_same(masked_fill(mul(x, 0.125), mask, -kInf), expected);
    expect_same(clone(x), values);
    expect_same(tril(x.slice(0, 1, 2)).slice(1, 330, 331), x.slice(0, 1, 2).slice(1, 330, 331).to_doubles());
  }
}

}  // namespace
}  // namespace hunch::ops::testing
