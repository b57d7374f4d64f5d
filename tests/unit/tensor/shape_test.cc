// Shapes: text, sizes, and the broadcasting rule with its refusals.
#include "hunch/tensor/shape.h"

#include <gtest/gtest.h>

namespace hunch::tensor {
namespace {

TEST(Shape, SizesAndText) {
  const Shape shape = {8, 16, 1024, 64};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape[-1], 64);
  EXPECT_EQ(shape[0], 8);
  EXPECT_EQ(shape.numel(), 8 * 16 * 1024 * 64);
  EXPECT_EQ(shape.text(), "8x16x1024x64");
  EXPECT_EQ(Shape().text(), "scalar");
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ((Shape{3, 0, 2}).numel(), 0);
  EXPECT_EQ((Shape{1, 2}), (Shape{1, 2}));
  EXPECT_FALSE((Shape{1, 2}) == (Shape{1, 2, 1}));
  EXPECT_FALSE((Shape{1, 2}) == (Shape{2, 1}));
}

TEST(Shape, ContiguousStrides) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Strides());
}

TEST(Shape, Broadcast) {
  bool ok = false;
  EXPECT_EQ(Shape::broadcast({2, 1, 4}, {3, 1}, ok), (Shape{2, 3, 4}));
  EXPECT_TRUE(ok);
  EXPECT_EQ(Shape::broadcast({}, {5}, ok), (Shape{5}));
  EXPECT_TRUE(ok);
  EXPECT_EQ(Shape::broadcast({0}, {1}, ok), (Shape{0}));
  EXPECT_TRUE(ok);
  EXPECT_EQ(Shape::broadcast({2, 3}, {3, 2}, ok), Shape());
  EXPECT_FALSE(ok);
  EXPECT_EQ(Shape::broadcast({0}, {2}, ok), Shape());
  EXPECT_FALSE(ok);
}

TEST(ShapeDeathTest, NineDimensions) { EXPECT_DEATH((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), "eight"); }

}  // namespace
}  // namespace hunch::tensor
