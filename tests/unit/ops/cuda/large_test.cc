// More than 2^31 elements: offsets, positions and grids beyond 32 bits. Each row tells its own number, and
// rows are read back from the start, around each power of two, and the end. Skipped on GPUs without the
// memory.
#include <limits>

#include "op_testing.h"

namespace hunch::ops::testing {
namespace {

constexpr int64_t kRows = 65537;

class CudaLarge : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (device().available_bytes() < int64_t{24} << 30) GTEST_SKIP() << "needs 24 GiB of free GPU memory";
    device().set_poison(false);
  }
};

std::vector<int64_t> rows_to_read(int64_t columns) {
  std::vector<int64_t> rows = {0, 1, kRows / 3, kRows - 2, kRows - 1};
  for (int64_t border = int64_t{1} << 28; border < kRows * columns; border *= 2)
    for (int64_t near = -1; near <= 1; ++near) rows.push_back(border / columns + near);
  return rows;
}

// Rows of odd length are not aligned to packs: their positions count single elements, past 2^31.
TEST_P(CudaLarge, CopyMulMaskedFillSoftmax) {
  const int64_t columns = GetParam();
  std::vector<float> numbers(static_cast<std::size_t>(kRows));
  for (std::size_t row = 0; row < numbers.size(); ++row) numbers[row] = static_cast<float>(row % 251);
  std::vector<float> hidden(static_cast<std::size_t>(columns), 0.0F);
  for (std::size_t i = 0; i < hidden.size(); i += 3) hidden[i] = 1.0F;
  const Tensor number = Tensor::from_floats(device(), DType::bf16, {kRows, 1}, numbers);
  const Tensor mask = Tensor::from_floats(device(), DType::boolean, {columns}, hidden);
  const Tensor x = clone(number.expand({kRows, columns}));
  ASSERT_GT(x.numel(), int64_t{1} << 31);
  const Tensor doubled = mul(x, 2.0);
  masked_fill_(doubled, mask, -7.0);
  for (const int64_t row : rows_to_read(columns)) {
    const auto copied = x.slice(0, row, row + 1).to_floats();
    const auto seen = doubled.slice(0, row, row + 1).to_floats();
    const auto expected = static_cast<float>(row % 251);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(copied[i], expected) << "row " << row << ", column " << i;
      ASSERT_EQ(seen[i], i % 3 == 0 ? -7.0F : 2 * expected) << "row " << row << ", column " << i;
    }
  }
  // Uniform rows: each share is one of the columns. In place of x's memory, which goes back first.
  const Tensor weights = softmax(x);
  for (const int64_t row : rows_to_read(columns))
    for (const float value : weights.slice(0, row, row + 1).to_floats())
      ASSERT_EQ(value, rounded(DType::bf16, 1.0F / static_cast<float>(columns))) << "row " << row;
}

INSTANTIATE_TEST_SUITE_P(Columns, CudaLarge, ::testing::Values(32776, 32771));

}  // namespace
}  // namespace hunch::ops::testing
