// The judge itself on trial: a right output passes, and every kind of wrong one fails. Without this a
// conformance run that passes would prove nothing.
#include "judge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hunch/tensor/cpu_device.h"

namespace hunch::conformance {
namespace {

class Judge : public ::testing::Test {
 protected:
  Judge() {
    attention::Problem problem;
    problem.batch = 2;
    problem.heads = problem.kv_heads = 2;
    problem.length = 9;
    problem.kv_length = 13;
    problem.head_dim = 8;
    problem.mask = attention::MaskKind::boolean;
    attention::Call call = attention::make_call(device_, problem, 7);
    std::vector<float> mask = call.mask->to_floats();
    for (std::size_t column = 0; column < 13; ++column) mask[kEmpty * 13 + column] = 0.0F;
    call.mask = tensor::Tensor::from_floats(device_, tensor::DType::boolean, {9, 13}, mask);
    exact_ = attention::reference::attention(call);
    right_ = attention::reference::attention_in_dtype(call);
    bound_ = attention::reference::error_bound(exact_.out, right_);
  }

  std::string why(const std::vector<double>& out, EmptyRows rows = EmptyRows::zero) const {
    return judge_out(out, exact_, bound_, rows).why;
  }

  static constexpr std::size_t kEmpty = 3;  // the row that attends to nothing
  static constexpr std::size_t kWidth = 8;
  tensor::CpuDevice device_{1};
  attention::reference::Result exact_;
  std::vector<double> right_;
  double bound_ = 0;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_F(Judge, PassesTheReferenceAndAPlainImplementation) {
  EXPECT_EQ(why(exact_.out), "");
  EXPECT_EQ(why(right_), "");
  EXPECT_GT(bound_, 1e-5);
  EXPECT_LT(bound_, 0.1);
}

TEST_F(Judge, FailsASingleWrongElement) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{90}, right_.size() - 1}) {
    auto out = right_;
    out[at] = exact_.out[at] + 1.01 * bound_;
    EXPECT_NE(why(out), "") << at;
    out[at] = exact_.out[at] - 1.01 * bound_;
    EXPECT_NE(why(out), "") << at;
    out[at] = exact_.out[at] + 0.99 * bound_;
    EXPECT_EQ(why(out), "") << at;
  }
}

TEST_F(Judge, FailsNaNAndInfinity) {
  for (const double value : {kNaN, kInf, -kInf}) {
    auto out = right_;
    out[5] = value;
    EXPECT_NE(why(out), "") << value;
  }
}

TEST_F(Judge, FailsAWrongRow) {
  auto out = right_;
  std::swap_ranges(out.begin(), out.begin() + kWidth, out.begin() + kWidth);  // rows 0 and 1 exchanged
  EXPECT_NE(why(out), "");
  out = right_;
  std::fill_n(out.begin(), kWidth, 0.0);  // a row that was taken for fully masked
  EXPECT_NE(why(out), "");
}

TEST_F(Judge, FailsAWrongHead) {
  auto out = right_;
  std::swap_ranges(out.begin(), out.begin() + 9 * kWidth, out.begin() + 9 * kWidth);
  EXPECT_NE(why(out), "");
}

TEST_F(Judge, FailsMissingAndSurplusElements) {
  auto out = right_;
  out.pop_back();
  EXPECT_NE(why(out), "");
  out = right_;
  out.push_back(0.0);
  EXPECT_NE(why(out), "");
  EXPECT_NE(why({}), "");
}

TEST_F(Judge, FullyMaskedRowsAreExactlyZeroOrNaN) {
  auto out = right_;
  out[kEmpty * kWidth + 2] = 1e-30;
  EXPECT_NE(why(out), "");
  out[kEmpty * kWidth + 2] = kNaN;
  EXPECT_NE(why(out), "");
  EXPECT_NE(why(right_, EmptyRows::nan), "");
  out = right_;
  for (std::size_t row = 0; row < exact_.lse.size(); ++row)
    if (is_empty_row(exact_, row)) std::fill_n(out.begin() + row * kWidth, kWidth, kNaN);
  EXPECT_EQ(why(out, EmptyRows::nan), "");
  EXPECT_NE(why(out, EmptyRows::zero), "");
}

TEST_F(Judge, LogSumExp) {
  EXPECT_EQ(judge_lse(exact_.lse, exact_).why, "");
  auto lse = exact_.lse;
  lse[0] += 2e-3;
  EXPECT_NE(judge_lse(lse, exact_).why, "");
  lse = exact_.lse;
  lse[kEmpty] = -1e30;
  EXPECT_NE(judge_lse(lse, exact_).why, "");
  lse = exact_.lse;
  lse[1] = kNaN;
  EXPECT_NE(judge_lse(lse, exact_).why, "");
  lse.pop_back();
  EXPECT_NE(judge_lse(lse, exact_).why, "");
  const double lowest = -3.4e38;
  EXPECT_TRUE(is_right_lse(lowest, lowest));
  EXPECT_FALSE(is_right_lse(-kInf, lowest));
  EXPECT_FALSE(is_right_lse(-5.0, lowest));
  EXPECT_FALSE(is_right_lse(lowest, -kInf));
}

}  // namespace
}  // namespace hunch::conformance
