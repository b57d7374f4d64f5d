// What the two ways of a CPU matrix product share: how a block of a strided matrix is handed to oneDNN.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hunch::ops::cpu {

// A block of a matrix, strides in elements.
struct Block {
  const std::byte* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;
};

// How a BLAS reads a block in place: row-major, or the transpose of row-major, `leading` elements apart.
struct Layout {
  bool direct = false;  // false: neither; the block has to be packed
  bool transposed = false;
  int64_t leading = 1;
};

inline Layout layout_of(const Block& block) {
  const bool row_major = block.columns == 1 || block.column_stride == 1;
  if (row_major && block.rows == 1) return {true, false, std::max<int64_t>(1, block.columns)};
  if (row_major && block.row_stride >= block.columns) return {true, false, block.row_stride};
  const bool column_major = block.rows == 1 || block.row_stride == 1;
  if (column_major && block.columns == 1) return {true, true, std::max<int64_t>(1, block.rows)};
  if (column_major && block.column_stride >= block.rows) return {true, true, block.column_stride};
  return {};  // two strides, or a broadcast dimension
}

// Whether this machine multiplies bf16 itself (AVX512_BF16 or AMX), and oneDNN knows how.
bool has_native_bf16();

class Bf16Product;  // a prepared product of two bf16 blocks

// For blocks of these sizes and layouts (both direct), into a row-major target; kept for the process's
// life, so that only the first of a kind costs its preparation. Null where oneDNN refuses.
const Bf16Product* find_bf16_product(const Block& a, const Block& b, int64_t target_leading);
// target = a * b, accumulated in f32 and rounded once; on the calling thread alone.
void run(const Bf16Product& product, const std::byte* a, const std::byte* b, std::byte* target);

// oneDNN from Debian runs on OpenMP. Work here is shared by the device's own workers (`--threads` is the
// one number that governs), so each of them tells OpenMP once that it works alone.
void single_threaded_openmp();

}  // namespace hunch::ops::cpu
