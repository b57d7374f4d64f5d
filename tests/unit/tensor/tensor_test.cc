// Views against index arithmetic by hand, the round trip of values, and what each view refuses.
#include "hunch/tensor/tensor.h"

#include <gtest/gtest.h>

#include <numeric>

#include "hunch/tensor/cpu_device.h"

namespace hunch::tensor {
namespace {

class TensorTest : public ::testing::Test {
 protected:
  // 0, 1, 2, ... in the given shape.
  Tensor counting(const Shape& shape, DType dtype = DType::f32) {
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    std::iota(values.begin(), values.end(), 0.0F);
    return Tensor::from_floats(device, dtype, shape, values);
  }
  CpuDevice device{2};
};

TEST_F(TensorTest, RoundTripOfEveryDtype) {
  const std::vector<float> values = {0.0F, -1.5F, 2.0F, 100.0F, 1.0F, -0.25F};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor x = Tensor::from_floats(device, dtype, {2, 3}, values);
    EXPECT_EQ(x.to_floats(), values);
    EXPECT_EQ(x.to_doubles(), std::vector<double>(values.begin(), values.end()));
  }
  EXPECT_EQ(Tensor::from_floats(device, DType::boolean, {2, 3}, values).to_floats(),
            (std::vector<float>{0, 1, 1, 1, 1, 1}));
  EXPECT_FALSE(Tensor().defined());
  EXPECT_EQ(Tensor::from_floats(device, DType::f32, {}, std::vector<float>{3}).to_floats(),
            std::vector<float>{3});
}

TEST_F(TensorTest, Transpose) {
  const Tensor x = counting({2, 3}).transpose(0, -1);
  EXPECT_EQ(x.shape(), (Shape{3, 2}));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x.to_floats(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(x.transpose(0, 1).is_contiguous());
  EXPECT_TRUE(counting({1, 5}).transpose(0, 1).is_contiguous());  // a dimension of size 1 has no stride
}

TEST_F(TensorTest, Expand) {
  const Tensor x = counting({3, 1}).expand({2, 3, 2});
  EXPECT_EQ(x.strides(), (Strides{0, 1, 0}));
  EXPECT_EQ(x.to_floats(), (std::vector<float>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_FALSE(x.is_contiguous());
}

TEST_F(TensorTest, Slice) {
  const Tensor x = counting({4, 5});
  EXPECT_EQ(x.slice(0, 1, 3).to_floats(), (std::vector<float>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_TRUE(x.slice(0, 1, 3).is_contiguous());
  EXPECT_EQ(x.slice(1, 1, 5, 3).to_floats(), (std::vector<float>{1, 4, 6, 9, 11, 14, 16, 19}));
  EXPECT_EQ(x.slice(-1, 0, 5, 2).shape(), (Shape{4, 3}));
  EXPECT_EQ(x.slice(0, 4, 4).numel(), 0);
  EXPECT_TRUE(x.slice(0, 4, 4).to_floats().empty());
  EXPECT_EQ(x.slice(0, 2, 4).slice(1, 4, 5).transpose(0, 1).to_floats(), (std::vector<float>{14, 19}));
}

TEST_F(TensorTest, ViewAndUnsqueeze) {
  const Tensor x = counting({2, 6}, DType::bf16);
  EXPECT_EQ(x.view({3, 2, 2}).transpose(0, 2).to_floats(),
            (std::vector<float>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
  EXPECT_EQ(x.unsqueeze(0).shape(), (Shape{1, 2, 6}));
  EXPECT_EQ(x.unsqueeze(1).shape(), (Shape{2, 1, 6}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{2, 6, 1}));
  EXPECT_EQ(x.unsqueeze(2).expand({2, 6, 2}).slice(1, 0, 2).to_floats(),
            (std::vector<float>{0, 0, 1, 1, 6, 6, 7, 7}));
  EXPECT_TRUE(x.unsqueeze(1).is_contiguous());
}

TEST_F(TensorTest, CopiesShareMemory) {
  const Tensor x = counting({3});
  const Tensor same = x;
  EXPECT_EQ(same.data(), x.data());
  EXPECT_EQ(device.memory().in_use_bytes, 12);
}

TEST_F(TensorTest, DimsText) {
  const Tensor x = counting({2, 3}), scalar = counting({});
  EXPECT_EQ(dims_text({&x, &scalar}), "[[2,3],[]]");
  EXPECT_EQ(dims_text({}), "[]");
}

using TensorDeathTest = TensorTest;

TEST_F(TensorDeathTest, WrongArguments) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Tensor x = counting({2, 3});
  EXPECT_DEATH(x.transpose(0, 2), "no such dimension");
  EXPECT_DEATH(x.expand({2, 4}), "size is not 1");
  EXPECT_DEATH(x.expand({3}), "fewer");
  EXPECT_DEATH(x.slice(0, 1, 3), "within");
  EXPECT_DEATH(x.slice(0, 0, 2, 0), "within");
  EXPECT_DEATH(x.view({7}), "number of elements");
  EXPECT_DEATH(x.transpose(0, 1).view({6}), "contiguous");
  EXPECT_DEATH(x.unsqueeze(3), "no such dimension");
}

}  // namespace
}  // namespace hunch::tensor
