// Which shape of the kernel for few rows, for devices that need not be here.
#include "hunch/attention/flash/few_shape.h"

#include <gtest/gtest.h>

namespace hunch::attention::flash {
namespace {

DeviceFacts device(int compute, int multiprocessors) {
  DeviceFacts facts;
  facts.compute = compute;
  facts.multiprocessors = multiprocessors;
  facts.shared_bytes = shared_bytes_of(compute);
  return facts;
}

constexpr int64_t kMegabyte = 1 << 20;

TEST(FewShape, ABlockHasAMultiprocessorWhileThereAreEnough) {
  for (const int dim : {1, 64, 65, 128, 129, 256}) {
    EXPECT_EQ(few_shape(dim, 132, kMegabyte, device(90, 132)), few_shape_alone(dim)) << dim;
    EXPECT_NE(few_shape(dim, 133, kMegabyte, device(90, 132)), few_shape_alone(dim)) << dim;
    EXPECT_GE(tile_of(few_shape(dim, 133, kMegabyte, device(90, 132))).dim, dim);
  }
}

// What was the best, or within a few hundredths of it, when all were measured.
TEST(FewShape, ManyBlocksComeInFullWaves) {
  const auto shape = [](int dim, int64_t blocks, int64_t bytes = kMegabyte) {
    return few_shape(dim, blocks, bytes, device(90, 132));
  };
  EXPECT_EQ(shape(64, 160), Shape::few64_three);
  EXPECT_EQ(shape(64, 396), Shape::few64_three);
  EXPECT_EQ(shape(64, 416), Shape::few64_four);
  EXPECT_EQ(shape(64, 528), Shape::few64_four);
  EXPECT_EQ(shape(64, 800), Shape::few64_three);  // twice three, and eight
  EXPECT_EQ(shape(64, 1024), Shape::few64_four);
  EXPECT_EQ(shape(128, 160), Shape::few128_three);
  EXPECT_EQ(shape(128, 160, 128 << 10), Shape::few128_two);
  EXPECT_EQ(shape(128, 320, 128 << 10), Shape::few128_three);
  EXPECT_EQ(shape(128, 512), Shape::few128_four);
  EXPECT_EQ(shape(128, 800), Shape::few128_three);
  EXPECT_EQ(shape(256, 160), Shape::few256_three);
  EXPECT_EQ(shape(256, 512), Shape::few256_four);
}

// Where a multiprocessor's shared memory holds fewer blocks, waves are smaller: 164 KiB hold two of 68 KiB
// and three of 52 KiB.
TEST(FewShape, SharedMemoryBoundsAWave) {
  EXPECT_EQ(few_shape(128, 4 * 108, kMegabyte, device(90, 108)), Shape::few128_four);
  EXPECT_EQ(few_shape(128, 2 * 108, kMegabyte, device(80, 108)), Shape::few128_three);
  EXPECT_EQ(few_shape(128, 3 * 108, kMegabyte, device(80, 108)), Shape::few128_four);
}

TEST(FewShape, AnyNumbersGiveAShapeOfTheTable) {
  for (const int compute : {80, 86, 90, 100, 120})
    for (const int multiprocessors : {0, 1, 7, 108, 132, 148})
      for (const int64_t blocks : {int64_t{0}, int64_t{1}, int64_t{149}, int64_t{1000}, int64_t{1} << 31})
        for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1} << 40})
          for (const int dim : {1, 64, 128, 256}) {
            const Tile tile = tile_of(few_shape(dim, blocks, bytes, device(compute, multiprocessors)));
            ASSERT_GE(tile.dim, dim);
            ASSERT_EQ(tile.rows, kFewRows);
          }
}

}  // namespace
}  // namespace hunch::attention::flash
