// Matrix products on the CPU by oneDNN, which was ahead of OpenBLAS or level with it on the shapes of
// attention (f32, one thread a batch item, GFLOP/s, OpenBLAS / oneDNN). On 2 cores of an AMD EPYC with AVX2:
// 64 x (1024x1024x64) 96 / 96, 64 x (1024x64x1024) 95 / 109, 8 x (4096x4096x64) 86 / 128, 8 x (4096x64x4096)
// 93 / 105; on 16 cores of a Xeon with AVX-512 216 / 632, 213 / 903, 98 / 268, 81 / 418 (bench/matmul).
// The device's workers share blocks of rows and columns; each calls oneDNN alone. Blocks depend on the
// shape only, so results do not depend on the number of threads. f32 is read in place, transposed or not.
// 16-bit types are widened block by block, multiplied in f32 and rounded once; where the CPU multiplies
// bf16 itself, oneDNN does all of that (matmul_bf16_cpu.cc).
#include "hunch/ops/matmul_cpu.h"

#include <dlfcn.h>
#include <dnnl.h>

#include <atomic>
#include <vector>

#include "hunch/base/check.h"
#include "hunch/ops/cpu_launch.h"
#include "hunch/ops/kernels_cpu.h"
#include "hunch/ops/simd.h"

namespace hunch::ops::cpu {
namespace {

constexpr int64_t kInnerBlock = 2048;  // of K, where blocks are widened: bounds the scratch

struct Problem {
  DType dtype;
  int64_t m, n, k;
  int64_t row_block, column_block, row_tiles, column_tiles;
  Shape batch, batch_a, batch_b;  // sizes, and strides in bytes
  Block a, b;                     // of batch entry 0
  std::byte* out;
  int64_t size;     // bytes an element
  uint64_t launch;  // tells a worker whether what it has widened is of this launch
  bool native_bf16;
};

// Of each worker, kept between launches.
struct Scratch {
  std::vector<float> a, b, product;
  std::vector<uint16_t> packed_a, packed_b;
  uint64_t launch = 0;  // whose block `b` holds
  const std::byte* b_data = nullptr;
  int64_t b_columns = 0;
};

float* room(std::vector<float>& scratch, int64_t count) {
  if (static_cast<int64_t>(scratch.size()) < count) scratch.resize(static_cast<std::size_t>(count));
  return scratch.data();
}

struct Operand {
  const float* data;
  bool transposed;
  int64_t leading;
};

// A block as sgemm reads it: in place, or widened and packed into `scratch`.
Operand as_floats(DType dtype, const Block& block, std::vector<float>& scratch, bool keep) {
  const Layout layout = layout_of(block);
  if (dtype == DType::f32 && layout.direct)
    return {reinterpret_cast<const float*>(block.data), layout.transposed, layout.leading};
  // Lines are what lies together: rows, or columns of a transposed block.
  const bool transposed = layout.direct && layout.transposed;
  const int64_t lines = transposed ? block.columns : block.rows;
  const int64_t length = transposed ? block.rows : block.columns;
  float* values = room(scratch, lines * length);
  if (keep) return {values, transposed, std::max<int64_t>(1, length)};
  const auto size = static_cast<int64_t>(tensor::size_of(dtype));
  const int64_t line_step = (transposed ? block.column_stride : block.row_stride) * size;
  const int64_t step = length == 1 ? size : (transposed ? block.row_stride : block.column_stride) * size;
  FloatStage stage;
  for (int64_t line = 0; line < lines; ++line) {
    const std::byte* from = block.data + line * line_step;
    float* to = values + line * length;
    if (step == size) {
      tensor::widen(dtype, from, length, to);
    } else {
      in_pieces(length, [&](int64_t i, int64_t count) {
        std::copy_n(stage.load(dtype, from + i * step, step, count), count, to + i);
      });
    }
  }
  return {values, transposed, std::max<int64_t>(1, length)};
}

void sgemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, float beta, float* c,
           int64_t leading) {
  const dnnl_status_t status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0F,
                                          a.data, a.leading, b.data, b.leading, beta, c, leading);
  HUNCH_CHECK(status == dnnl_success, "dnnl_sgemm refused its arguments");
}

// Rows [row, row + m) and columns [column, column + n) of one product, widened in blocks of K.
void widened_tile(const Problem& p, Scratch& scratch, const Block& a, const Block& b, std::byte* target) {
  const bool in_place = p.dtype == DType::f32;
  float* product = in_place ? reinterpret_cast<float*>(target) : room(scratch.product, a.rows * b.columns);
  const int64_t leading = in_place ? p.n : b.columns;
  const bool whole = in_place && layout_of(a).direct && layout_of(b).direct;
  const int64_t inner = whole ? p.k : std::min(p.k, kInnerBlock);
  for (int64_t at = 0; at < p.k; at += inner) {
    Block part_a = a, part_b = b;
    part_a.columns = part_b.rows = std::min(inner, p.k - at);
    part_a.data += at * a.column_stride * p.size;
    part_b.data += at * b.row_stride * p.size;
    // Tiles come row block after row block, so the columns' side is often the one from before.
    const bool keep = inner == p.k && scratch.launch == p.launch && scratch.b_data == part_b.data &&
                      scratch.b_columns == part_b.columns;
    const Operand left = as_floats(p.dtype, part_a, scratch.a, false);
    const Operand right = as_floats(p.dtype, part_b, scratch.b, keep);
    scratch.launch = p.launch;
    scratch.b_data = part_b.data;
    scratch.b_columns = part_b.columns;
    sgemm(left, right, a.rows, b.columns, part_a.columns, at == 0 ? 0.0F : 1.0F, product, leading);
  }
  if (in_place) return;
  for (int64_t row = 0; row < a.rows; ++row)
    tensor::narrow(p.dtype, product + row * leading, b.columns, target + row * p.n * p.size);
}

// A bf16 block that oneDNN reads in place: as it is, or packed row-major.
Block direct_bf16(const Block& block, std::vector<uint16_t>& scratch) {
  if (layout_of(block).direct) return block;
  const auto count = static_cast<std::size_t>(block.rows * block.columns);
  if (scratch.size() < count) scratch.resize(count);
  for (int64_t row = 0; row < block.rows; ++row) {
    const std::byte* from = block.data + row * block.row_stride * 2;
    uint16_t* to = scratch.data() + row * block.columns;
    for (int64_t column = 0; column < block.columns; ++column)
      to[column] = *reinterpret_cast<const uint16_t*>(from + column * block.column_stride * 2);
  }
  return {reinterpret_cast<const std::byte*>(scratch.data()), block.rows, block.columns, block.columns, 1};
}

void tile(const Problem& p, int64_t index) {
  static thread_local Scratch scratch;
  single_threaded_openmp();
  const int64_t row = index % p.row_tiles * p.row_block;
  const int64_t column = index / p.row_tiles % p.column_tiles * p.column_block;
  const int64_t entry = index / p.row_tiles / p.column_tiles;
  Block a = p.a, b = p.b;
  int64_t rest = entry;
  for (int dim = p.batch.rank() - 1; dim >= 0; --dim) {
    a.data += rest % p.batch[dim] * p.batch_a[dim];
    b.data += rest % p.batch[dim] * p.batch_b[dim];
    rest /= p.batch[dim];
  }
  a.data += row * a.row_stride * p.size;
  a.rows = std::min(p.row_block, p.m - row);
  b.data += column * b.column_stride * p.size;
  b.columns = std::min(p.column_block, p.n - column);
  std::byte* target = p.out + ((entry * p.m + row) * p.n + column) * p.size;
  if (p.k == 0) {
    for (int64_t i = 0; i < a.rows; ++i)
      std::memset(target + i * p.n * p.size, 0, static_cast<std::size_t>(b.columns * p.size));
    return;
  }
  if (p.native_bf16) {
    const Block left = direct_bf16(a, scratch.packed_a), right = direct_bf16(b, scratch.packed_b);
    if (const Bf16Product* product = find_bf16_product(left, right, p.n); product != nullptr)
      return run(*product, left.data, right.data, target);
  }
  widened_tile(p, scratch, a, b, target);
}

// Blocks large enough to be worth a call each, and small enough that every worker gets some.
void cut(Problem& p) {
  constexpr int64_t kEnoughTiles = 64;
  constexpr int64_t kEnoughWork = int64_t{1} << 22;  // multiply-adds: about 0.1 ms
  p.column_block = std::min<int64_t>(p.n, p.dtype == DType::f32 ? 1024 : 512);
  p.column_tiles = (p.n + p.column_block - 1) / p.column_block;
  p.row_block = std::min<int64_t>(p.m, 256);
  while (p.row_block > 32 && p.row_block * p.column_block * p.k > kEnoughWork &&
         p.batch.numel() * p.column_tiles * ((p.m + p.row_block - 1) / p.row_block) < kEnoughTiles)
    p.row_block = (p.row_block + 1) / 2;
  p.row_tiles = (p.m + p.row_block - 1) / p.row_block;
}

}  // namespace

void matmul(CpuDevice& cpu, const Tensor& out, const Tensor& a, const Tensor& b) {
  static constexpr auto kNames = HUNCH_KERNEL_NAMES("matmul");
  static std::atomic<uint64_t> launches{0};
  if (out.numel() == 0) return;
  Problem p;
  p.dtype = out.dtype();
  p.size = static_cast<int64_t>(tensor::size_of(p.dtype));
  p.m = a.size(-2);
  p.k = a.size(-1);
  p.n = b.size(-1);
  for (int dim = 0; dim < out.rank() - 2; ++dim) {
    p.batch.push_back(out.size(dim));
    p.batch_a.push_back(a.stride(dim) * p.size);
    p.batch_b.push_back(b.stride(dim) * p.size);
  }
  p.a = {a.data(), p.m, p.k, a.stride(-2), a.stride(-1)};
  p.b = {b.data(), p.k, p.n, b.stride(-2), b.stride(-1)};
  p.out = out.data();
  p.launch = ++launches;
  p.native_bf16 = p.dtype == DType::bf16 && has_native_bf16();
  cut(p);
  launch_tiles(cpu, kernel_name(kNames, p.dtype), p.batch.numel() * p.row_tiles * p.column_tiles,
               [p](int64_t index, int) { tile(p, index); });
}

// Looked up rather than linked: whichever OpenMP oneDNN brought along is the one that has to know.
void single_threaded_openmp() {
  static thread_local const bool told = [] {
    using SetThreads = void (*)(int);
    if (auto* set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")); set != nullptr)
      set(1);
    return true;
  }();
  static_cast<void>(told);
}

}  // namespace hunch::ops::cpu
