// The judge, judged: worked values, and the properties that its definition must have. Its tests share no code
// with it.
#include "hunch/attention/reference/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hunch/tensor/cpu_device.h"

namespace hunch::attention::reference {
namespace {

using tensor::DType;
using tensor::Tensor;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

class Reference : public ::testing::Test {
 protected:
  Tensor make(const tensor::Shape& shape, const std::vector<float>& values, DType dtype = DType::f32) {
    return Tensor::from_floats(device_, dtype, shape, values);
  }
  tensor::CpuDevice device_{1};
};

TEST_F(Reference, WorkedByHand) {
  Call call;
  call.query = make({1, 1, 1, 2}, {1, 2});
  call.key = make({1, 1, 2, 2}, {3, 4, 5, 6});  // dots 11 and 17
  call.value = make({1, 1, 2, 1}, {10, 20});
  call.scale = 0.5;
  const Result result = attention(call);
  const double weight = 1.0 / (1.0 + std::exp(-3.0));  // of the second key
  EXPECT_NEAR(result.out[0], 10 * (1 - weight) + 20 * weight, 1e-12);
  EXPECT_NEAR(result.lse[0], std::log(std::exp(5.5) + std::exp(8.5)), 1e-12);
}

TEST_F(Reference, DefaultScaleIsOneOverTheRootOfHeadDim) {
  Call call;
  call.query = call.key = make({1, 1, 1, 4}, {1, 1, 1, 1});
  call.value = make({1, 1, 1, 1}, {7});
  EXPECT_NEAR(attention(call).lse[0], 4.0 / 2.0, 1e-12);
}

TEST_F(Reference, CausalIsTopLeftWhateverTheLengths) {
  for (const int64_t kv_length : {2, 5, 9}) {
    Call call;
    call.query = make({1, 1, 5, 1}, std::vector<float>(5, 0));
    const auto keys = static_cast<std::size_t>(kv_length);
    call.key = make({1, 1, kv_length, 1}, std::vector<float>(keys, 0));
    std::vector<float> value(keys);
    for (std::size_t j = 0; j < keys; ++j) value[j] = static_cast<float>(j);
    call.value = make({1, 1, kv_length, 1}, value);
    call.is_causal = true;
    const Result result = attention(call);
    for (int64_t i = 0; i < 5; ++i) {
      const double seen = static_cast<double>(std::min(i + 1, kv_length));
      EXPECT_NEAR(result.out[static_cast<std::size_t>(i)], (seen - 1) / 2, 1e-12);
      EXPECT_NEAR(result.lse[static_cast<std::size_t>(i)], std::log(seen), 1e-12);
    }
  }
}

TEST_F(Reference, AWindowKeepsTheLastKeys) {
  for (const int64_t window : {1, 2, 3, 7}) {
    Call call;
    call.query = make({1, 1, 6, 1}, std::vector<float>(6, 0));
    call.key = make({1, 1, 4, 1}, std::vector<float>(4, 0));
    call.value = make({1, 1, 4, 1}, {1, 10, 100, 1000});
    call.is_causal = true;
    call.window = window;
    const Result result = attention(call);
    for (int64_t i = 0; i < 6; ++i) {
      double sum = 0, count = 0;
      for (int64_t j = std::max<int64_t>(0, i - window + 1); j <= std::min<int64_t>(i, 3); ++j, ++count)
        sum += std::pow(10.0, static_cast<double>(j));
      const auto row = static_cast<std::size_t>(i);
      EXPECT_NEAR(result.out[row], count == 0 ? 0 : sum / count, 1e-9)
          << "window " << window << ", row " << i;
      EXPECT_EQ(std::isinf(result.lse[row]), count == 0);
    }
  }
}

TEST_F(Reference, SoftcapBendsScaledScoresBeforeTheMask) {
  Call call;
  call.query = make({1, 1, 1, 2}, {1, 2});
  call.key = make({1, 1, 2, 2}, {3, 4, 5, 6});  // dots 11 and 17
  call.value = make({1, 1, 2, 1}, {10, 20});
  call.scale = 0.5;
  call.softcap = 4;
  call.mask = make({1, 2}, {0, 1});
  const double first = 4 * std::tanh(5.5 / 4), second = 4 * std::tanh(8.5 / 4) + 1;
  EXPECT_NEAR(attention(call).lse[0], std::log(std::exp(first) + std::exp(second)), 1e-12);
  EXPECT_NEAR(attention_in_dtype(call)[0], attention(call).out[0], 1e-5);
}

TEST_F(Reference, GroupedHeadsShareNeighbouringKeys) {
  Call call;
  call.query = make({1, 4, 1, 1}, {1, 1, 1, 1});
  call.key = make({1, 2, 1, 1}, {1, 1});
  call.value = make({1, 2, 1, 1}, {5, 9});
  call.enable_gqa = true;
  EXPECT_THAT(attention(call).out, ElementsAre(5, 5, 9, 9));
}

TEST_F(Reference, MaskIsReadByBroadcastAndStride) {
  Problem problem = *parse_problem("2x3x4x8");
  problem.kv_length = 5;
  problem.mask = MaskKind::none;
  Call call = make_call(device_, problem, 4);
  const std::vector<float> pattern = {0, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0};
  call.mask = make({4, 5}, pattern, DType::boolean);
  const auto plain = attention(call).out;
  std::vector<float> full;
  for (int copy = 0; copy < 6; ++copy) full.insert(full.end(), pattern.begin(), pattern.end());
  call.mask = make({2, 3, 4, 5}, full, DType::boolean);
  EXPECT_EQ(attention(call).out, plain);
  std::vector<float> transposed(20);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) transposed[j * 4 + i] = pattern[i * 5 + j];
  call.mask = make({5, 4}, transposed, DType::boolean).transpose(0, 1);
  EXPECT_EQ(attention(call).out, plain);
  std::vector<float> added(20);
  for (std::size_t i = 0; i < 20; ++i)
    added[i] = pattern[i] != 0 ? 0.0F : -std::numeric_limits<float>::infinity();
  call.mask = make({4, 5}, added);
  EXPECT_THAT(attention(call).out, Pointwise(DoubleNear(1e-12), plain));
  call.mask = make({2, 1, 1, 5}, {1, 1, 0, 0, 0, 0, 0, 0, 0, 1}, DType::boolean);
  const auto padded = attention(call);
  const auto value = call.value.to_doubles();  // batch 1 sees its last key alone
  for (std::size_t row = 0; row < 12; ++row)
    for (std::size_t d = 0; d < 8; ++d)
      EXPECT_NEAR(padded.out[(12 + row) * 8 + d], value[((3 + row / 4) * 5 + 4) * 8 + d], 1e-12);
}

TEST_F(Reference, RowsWithoutAKeyAreZero) {
  Call call;
  call.query = make({1, 1, 2, 1}, {1, 1});
  call.key = call.value = make({1, 1, 0, 1}, {});
  EXPECT_THAT(attention(call).out, Each(0.0));
  EXPECT_THAT(attention(call).lse, Each(-std::numeric_limits<double>::infinity()));
  EXPECT_THAT(attention_in_dtype(call), Each(0.0));
}

TEST_F(Reference, SomeRowsAreThoseRows) {
  Problem problem = *parse_problem("2x2x5x8");
  const Call call = make_call(device_, problem, 9);
  const Result all = attention(call);
  const auto all_in_dtype = attention_in_dtype(call);
  const std::vector<int64_t> rows = {19, 0, 7};
  const Result some = attention(call, rows);
  const auto some_in_dtype = attention_in_dtype(call, rows);
  ASSERT_EQ(some.out.size(), 24U);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(some.lse[r], all.lse[static_cast<std::size_t>(rows[r])]);
    for (std::size_t d = 0; d < 8; ++d) {
      EXPECT_EQ(some.out[r * 8 + d], all.out[static_cast<std::size_t>(rows[r]) * 8 + d]);
      EXPECT_EQ(some_in_dtype[r * 8 + d], all_in_dtype[static_cast<std::size_t>(rows[r]) * 8 + d]);
    }
  }
}

// The bound is what 16 bits cost: far above f32's, far below the values.
TEST_F(Reference, BoundFollowsTheDtype) {
  Problem problem = *parse_problem("1x2x64x64");
  const auto bound = [&](DType dtype) {
    problem.dtype = dtype;
    const Call call = make_call(device_, problem, 2);
    return error_bound(attention(call).out, attention_in_dtype(call));
  };
  EXPECT_LT(bound(DType::f32), 2e-5);
  EXPECT_GT(bound(DType::f16), 1e-4);
  EXPECT_LT(bound(DType::f16), 1e-2);
  EXPECT_GT(bound(DType::bf16), 3 * bound(DType::f16));
  EXPECT_LT(bound(DType::bf16), 0.1);
}

}  // namespace
}  // namespace hunch::attention::reference
