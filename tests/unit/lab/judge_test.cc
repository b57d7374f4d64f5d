// The judge: what it samples, and that nothing wrong gets past it.
#include "hunch/lab/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hunch/attention/backend.h"
#include "hunch/attention/reference/reference.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::lab {
namespace {

using attention::Call;
using attention::MaskKind;
using tensor::CpuDevice;
using tensor::DType;
using tensor::Tensor;

attention::Problem problem(int64_t batch, int64_t heads, int64_t length, int64_t head_dim,
                           MaskKind mask = MaskKind::causal) {
  attention::Problem problem;
  problem.batch = batch;
  problem.heads = problem.kv_heads = heads;
  problem.length = problem.kv_length = length;
  problem.head_dim = head_dim;
  problem.dtype = DType::f32;
  problem.mask = mask;
  return problem;
}

std::vector<float> exact_floats(const Call& call) {
  const auto exact = attention::reference::attention(call).out;
  return {exact.begin(), exact.end()};
}

Tensor result(const Call& call, const std::vector<float>& values) {
  return Tensor::from_floats(call.query.device(), DType::f32, call.query.shape(), values);
}

TEST(Judge, AcceptsTheReferenceAndRejectsWhatDiffers) {
  CpuDevice device(1);
  const Call call = attention::make_call(device, problem(2, 2, 9, 4), 1);
  const Judge judge(call, 1);
  EXPECT_EQ(judge.rows(), 2 * 2 * 9);
  std::vector<float> values = exact_floats(call);
  EXPECT_TRUE(judge.judge(result(call, values), false).ok);

  std::vector<float> off = values;
  off[17] += 0.25F;
  const Judgement wrong = judge.judge(result(call, off), false);
  EXPECT_FALSE(wrong.ok);
  EXPECT_NEAR(wrong.max_abs_error, 0.25, 1e-5);

  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> missing = values;
    missing.back() = bad;
    const Judgement judgement = judge.judge(result(call, missing), false);
    EXPECT_FALSE(judgement.ok);
    EXPECT_TRUE(std::isinf(judgement.max_abs_error));
    EXPECT_FALSE(judge.judge(result(call, missing), true).ok) << "by hand or not, this row has keys";
  }
}

TEST(Judge, AnEmptyRowIsZeroOrNanByHand) {
  CpuDevice device(1);
  Call call = attention::make_call(device, problem(1, 1, 3, 2, MaskKind::none), 1);
  const std::vector<float> keeps = {1, 1, 0, 0, 0, 0, 1, 0, 1};  // query 1 attends to nothing
  call.mask = Tensor::from_floats(device, DType::boolean, {3, 3}, keeps);
  const Judge judge(call, 1);
  std::vector<float> values = exact_floats(call);
  EXPECT_TRUE(judge.judge(result(call, values), false).ok);
  EXPECT_FALSE(judge.judge(result(call, values), true).ok);
  values[3] = 1e-30F;
  EXPECT_FALSE(judge.judge(result(call, values), false).ok) << "exactly zero";
  values[2] = values[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(judge.judge(result(call, values), true).ok);
  EXPECT_FALSE(judge.judge(result(call, values), false).ok);
}

// A large problem is sampled: the sample's reference is that of the whole call, for every kind of mask,
// and with grouped heads.
TEST(Judge, SamplesLargeProblems) {
  CpuDevice device(2);
  for (const MaskKind mask : {MaskKind::none, MaskKind::causal, MaskKind::boolean, MaskKind::floating}) {
    attention::Problem large = problem(3, 12, 100, 24, mask);
    large.kv_heads = 4;
    large.kv_length = 260;
    const Call call = attention::make_call(device, large, 7);
    const Judge judge(call, 7);
    EXPECT_LT(judge.rows(), 3 * 12 * 100) << "else this test is of nothing";
    EXPECT_GT(judge.rows(), 300);
    const std::vector<float> values = exact_floats(call);
    const Judgement right = judge.judge(result(call, values), false);
    EXPECT_TRUE(right.ok) << attention::name_of(mask);
    EXPECT_LT(right.max_abs_error, 1e-6) << attention::name_of(mask);
    std::vector<float> shifted(values.begin() + 24, values.end());  // each row is its neighbour's
    shifted.insert(shifted.end(), values.begin(), values.begin() + 24);
    EXPECT_FALSE(judge.judge(result(call, shifted), false).ok);
    EXPECT_EQ(Judge(call, 7).rows(), judge.rows());
  }
}

TEST(Judge, TakesMasksOfEveryRank) {
  CpuDevice device(2);
  const attention::Problem large = problem(3, 8, 168, 32, MaskKind::none);
  Call call = attention::make_call(device, large, 3);
  for (const tensor::Shape& shape :
       {tensor::Shape{168}, tensor::Shape{8, 1, 168}, tensor::Shape{3, 1, 1, 168},
        tensor::Shape{3, 8, 168, 1}, tensor::Shape{1, 8, 168, 168}}) {
    std::vector<float> bias(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 17) * 0.25F - 2.0F;
    call.mask = Tensor::from_floats(device, DType::f32, shape, bias);
    const Judge judge(call, 5);
    EXPECT_LT(judge.rows(), 3 * 8 * 168);
    EXPECT_TRUE(judge.judge(result(call, exact_floats(call)), false).ok) << shape.text();
  }
}

}  // namespace
}  // namespace hunch::lab
