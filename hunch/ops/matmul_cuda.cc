// matmul on CUDA, by cuBLASLt: [..., M, K] x [..., K, N] in one strided batch wherever the batch dimensions
// of both operands fold into one step (a broadcast one is a step of 0), else in a loop over the batch
// dimensions that do not. Transposed operands are read as they lie. Sums are in float: true FP32 for f32, no
// TF32, as PyTorch's default is; 16-bit results are rounded once, so splits of K that add up in 16 bits, or
// that need a second kernel, are not asked for.
//
// The heuristic's first proposal is taken. Measured on one H200 over eight of them, 8 x 16 x 1024 x 64: for
// query times key it is the best or within 1% of it (bf16 94 us, f32 526 us); for weights times value others
// are 6% (bf16) and 9% (f32) faster, but no rank is best throughout, and trying them would be launches that a
// recording sees.
//
// cuBLASLt thinks in columns. A row-major result is the transpose of a column-major one, so what it is asked
// for is out^T = b^T a^T, which moves nothing.
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include <cuda_runtime_api.h>

#include "hunch/base/check.h"
#include "hunch/ops/cublaslt.cuh"
#include "hunch/ops/kernels_cuda.h"
#include "hunch/tensor/cuda_check.h"

namespace hunch::ops::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr int kChoices = 8;                                     // proposals that the heuristic is asked for
constexpr int64_t kMaxLoop = 64;  // products in a loop, before operands are copied into one batch

std::atomic<int> matmul_choice{0};

// How a matrix lies: `leading` elements from row to row, or where transposed from column to column.
struct MatrixLayout {
  bool direct = false;
  bool transposed = false;
  int64_t leading = 1;
};

MatrixLayout layout_of(const Tensor& x) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const int64_t row_stride = x.stride(-2), column_stride = x.stride(-1);
  if (columns == 1 || column_stride == 1) {
    if (rows == 1) return {true, false, columns};
    if (row_stride >= columns) return {true, false, row_stride};
  }
  if (rows == 1 || row_stride == 1) {
    if (columns == 1) return {true, true, rows};
    if (column_stride >= rows) return {true, true, column_stride};
  }
  return {};
}

// What tells one kind of product from another: all that the heuristic is asked.
struct Kind {
  int64_t device, dtype, m, n, k, batch;
  int64_t transposed_a, leading_a, step_a, align_a;
  int64_t transposed_b, leading_b, step_b, align_b;
  int64_t step_out, align_out, choice;
  auto operator<=>(const Kind&) const = default;  // NOLINT(modernize-use-nullptr): there is none
};

// A product ready to run; kept for the process's life.
struct Product {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, out = nullptr;
  cublasLtMatmulAlgo_t algorithm;
};

// What a device has once; what a stream has once.
cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) HUNCH_CUBLASLT_CHECK(cublaslt().create(&handle));
  return handle;
}

// Not accounted as a tensor's: it is the library's, and outlives the device object.
void* workspace_of(int device, void* stream) {
  static std::mutex mutex;
  static std::map<std::pair<int, void*>, void*> workspaces;
  const std::lock_guard lock(mutex);
  void*& workspace = workspaces[{device, stream}];
  if (workspace == nullptr) HUNCH_CUDA_CHECK(cudaMalloc(&workspace, kWorkspaceBytes));
  return workspace;
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    case DType::boolean:
      break;
  }
  HUNCH_CHECK(false, "a matmul of booleans");
}

// A column-major matrix, `batch` of them `step` elements apart.
cublasLtMatrixLayout_t make_layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t leading,
                                   int64_t batch, int64_t step) {
  const CublasLt& lt = cublaslt();
  cublasLtMatrixLayout_t layout = nullptr;
  HUNCH_CUBLASLT_CHECK(
      lt.create_layout(&layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), leading));
  const auto count = static_cast<int32_t>(batch);
  HUNCH_CUBLASLT_CHECK(lt.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  HUNCH_CUBLASLT_CHECK(
      lt.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  return layout;
}

Product make_product(const Kind& kind) {
  const CublasLt& lt = cublaslt();
  const cudaDataType_t type = type_of(static_cast<DType>(kind.dtype));
  Product product;
  HUNCH_CUBLASLT_CHECK(lt.create_product(&product.description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  // The library's A is our b, its B our a.
  const cublasOperation_t first = kind.transposed_b != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = kind.transposed_a != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  HUNCH_CUBLASLT_CHECK(
      lt.set_product(product.description, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
  HUNCH_CUBLASLT_CHECK(
      lt.set_product(product.description, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
  product.b = kind.transposed_b != 0
                  ? make_layout(type, kind.k, kind.n, kind.leading_b, kind.batch, kind.step_b)
                  : make_layout(type, kind.n, kind.k, kind.leading_b, kind.batch, kind.step_b);
  product.a = kind.transposed_a != 0
                  ? make_layout(type, kind.m, kind.k, kind.leading_a, kind.batch, kind.step_a)
                  : make_layout(type, kind.k, kind.m, kind.leading_a, kind.batch, kind.step_a);
  product.out = make_layout(type, kind.n, kind.m, kind.n, kind.batch, kind.step_out);

  cublasLtMatmulPreference_t preference = nullptr;
  HUNCH_CUBLASLT_CHECK(lt.create_preference(&preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    HUNCH_CUBLASLT_CHECK(lt.set_preference(preference, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceBytes});
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(kind.align_b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(kind.align_a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(kind.align_out));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(kind.align_out));
  std::array<cublasLtMatmulHeuristicResult_t, kChoices> proposals = {};
  int count = 0;
  const cublasStatus_t status =
      lt.heuristic(handle_of(static_cast<int>(kind.device)), product.description, product.b, product.a,
                   product.out, product.out, preference, kChoices, proposals.data(), &count);
  HUNCH_CUBLASLT_CHECK(lt.destroy_preference(preference));
  HUNCH_CUBLASLT_CHECK(status);
  HUNCH_CHECK(count > 0, "cuBLASLt has no algorithm for this product");
  product.algorithm = proposals[static_cast<std::size_t>(std::min<int64_t>(kind.choice, count - 1))].algo;
  return product;
}

const Product& product_of(const Kind& kind) {
  static std::mutex mutex;
  static std::map<Kind, Product> products;
  const std::lock_guard lock(mutex);
  const auto found = products.find(kind);
  return found != products.end() ? found->second : products.emplace(kind, make_product(kind)).first->second;
}

// The largest power of two up to 256 that divides all of them, in bytes.
int64_t alignment(std::initializer_list<int64_t> numbers) {
  int64_t common = 256;
  for (const int64_t number : numbers) common = std::gcd(common, number);
  return common;
}

// A dense copy, without what is broadcast; of x's shape.
Tensor dense_copy(CudaDevice& cuda, const Tensor& x) {
  Tensor once = x;
  for (int dim = 0; dim < x.rank() - 2; ++dim)
    if (x.stride(dim) == 0 && x.size(dim) > 1) once = once.slice(dim, 0, 1);
  const Tensor copied = Tensor::empty(cuda, x.dtype(), once.shape());
  copy(cuda, copied, once, CopyName::copy);
  return copied.expand(x.shape());
}

// The batch dimensions, those folded into one that fold in both operands; steps in elements.
struct Batch {
  struct Dim {
    int64_t size, a, b, out;
  };
  std::array<Dim, Shape::kMaxRank> dims;
  int rank = 0;
  int strided = 0;    // the one that is a strided batch: the largest
  int64_t loops = 1;  // products of the others

  Batch(const Tensor& out, const Tensor& a, const Tensor& b) {
    for (int dim = 0; dim < out.rank() - 2; ++dim) {
      if (out.size(dim) == 1) continue;
      const Dim next = {out.size(dim), a.stride(dim), b.stride(dim), out.stride(dim)};
      if (rank > 0) {
        Dim& last = dims[static_cast<std::size_t>(rank - 1)];
        if (last.a == next.a * next.size && last.b == next.b * next.size &&
            last.out == next.out * next.size) {
          last = {last.size * next.size, next.a, next.b, next.out};
          continue;
        }
      }
      dims[static_cast<std::size_t>(rank++)] = next;
    }
    if (rank == 0) dims[static_cast<std::size_t>(rank++)] = {1, 0, 0, out.size(-2) * out.size(-1)};
    for (int dim = 1; dim < rank; ++dim)
      if (dims[static_cast<std::size_t>(dim)].size > dims[static_cast<std::size_t>(strided)].size)
        strided = dim;
    for (int dim = 0; dim < rank; ++dim)
      if (dim != strided) loops *= dims[static_cast<std::size_t>(dim)].size;
  }
};

}  // namespace

void set_matmul_choice(int rank) { matmul_choice = rank; }

void matmul(CudaDevice& cuda, const Tensor& out, const Tensor& given_a, const Tensor& given_b) {
  static constexpr std::array<std::string_view, 4> kNames = {
      "hunch::ops::cuda::matmul<f32>", "hunch::ops::cuda::matmul<bf16>", "hunch::ops::cuda::matmul<f16>",
      "hunch::ops::cuda::matmul<bool>"};
  if (out.numel() == 0) return;
  if (given_a.size(-1) == 0) return fill(cuda, out, 0.0);
  Tensor a = given_a, b = given_b;
  if (!layout_of(a).direct) a = dense_copy(cuda, a);
  if (!layout_of(b).direct) b = dense_copy(cuda, b);
  Batch batch(out, a, b);
  if (batch.loops > kMaxLoop) {
    a = dense_copy(cuda, a);
    b = dense_copy(cuda, b);
    batch = Batch(out, a, b);
  }
  const MatrixLayout layout_a = layout_of(a), layout_b = layout_of(b);
  const auto size = static_cast<int64_t>(tensor::size_of(out.dtype()));
  const Batch::Dim strided = batch.dims[static_cast<std::size_t>(batch.strided)];
  HUNCH_CHECK(strided.size < int64_t{1} << 31, "a batch of up to 2^31 products");

  Kind kind = {};
  kind.device = cuda.info().index;
  kind.dtype = static_cast<int64_t>(out.dtype());
  kind.m = a.size(-2);
  kind.n = b.size(-1);
  kind.k = a.size(-1);
  kind.batch = strided.size;
  kind.transposed_a = layout_a.transposed ? 1 : 0;
  kind.transposed_b = layout_b.transposed ? 1 : 0;
  kind.leading_a = layout_a.leading;
  kind.leading_b = layout_b.leading;
  kind.step_a = strided.a;
  kind.step_b = strided.b;
  kind.step_out = strided.out;
  kind.choice = matmul_choice;
  const auto address = [](const Tensor& x) {
    return static_cast<int64_t>(reinterpret_cast<intptr_t>(x.data()));
  };
  kind.align_a = alignment({address(a), strided.a * size});
  kind.align_b = alignment({address(b), strided.b * size});
  kind.align_out = alignment({address(out), strided.out * size});
  for (int dim = 0; dim < batch.rank; ++dim) {
    const Batch::Dim& each = batch.dims[static_cast<std::size_t>(dim)];
    kind.align_a = alignment({kind.align_a, each.a * size});
    kind.align_b = alignment({kind.align_b, each.b * size});
    kind.align_out = alignment({kind.align_out, each.out * size});
  }

  base::WorkInfo work;  // its grid is the library's own affair
  work.kind = base::WorkKind::kernel;
  work.name = kNames[static_cast<std::size_t>(out.dtype())];
  cuda.launch(work, [&](void* stream) {
    const Product& product = product_of(kind);
    const cublasLtHandle_t handle = handle_of(cuda.info().index);
    void* const workspace = workspace_of(cuda.info().index, stream);
    const float one = 1.0F, zero = 0.0F;
    for (int64_t index = 0; index < batch.loops; ++index) {
      const std::byte *from_a = a.data(), *from_b = b.data();
      std::byte* to = out.data();
      int64_t rest = index;
      for (int dim = batch.rank - 1; dim >= 0; --dim) {
        if (dim == batch.strided) continue;
        const Batch::Dim& each = batch.dims[static_cast<std::size_t>(dim)];
        const int64_t here = rest % each.size;
        rest /= each.size;
        from_a += here * each.a * size;
        from_b += here * each.b * size;
        to += here * each.out * size;
      }
      HUNCH_CUBLASLT_CHECK(cublaslt().matmul(
          handle, product.description, &one, from_b, product.b, from_a, product.a, &zero, to, product.out, to,
          product.out, &product.algorithm, workspace, kWorkspaceBytes, static_cast<cudaStream_t>(stream)));
    }
    return static_cast<int>(cudaSuccess);
  });
}

}  // namespace hunch::ops::cuda
