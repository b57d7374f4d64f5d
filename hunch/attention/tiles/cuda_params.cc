// What the CUDA kernels refuse, and their parameters. In every build: reasons need no GPU to be told.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/base/check.h"

namespace hunch::attention::tiles {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr int kLeastCompute = 80;
// Sizes are ints in the kernels, with room for a tile beyond the end; blocks count tiles of 32 rows or more.
constexpr int64_t kMaxSize = int64_t{1} << 30;
constexpr int64_t kLeastTileRows = 32;

void add_row_refusal(std::string_view what, const Tensor& tensor, std::vector<std::string>& reasons) {
  if (tensor.stride(-1) != 1 && tensor.size(-1) > 1)
    reasons.push_back(fmt::format("{}'s last stride is {}, not 1", what, tensor.stride(-1)));
}

bool is_aligned(const void* data, const Strides4& strides, int64_t columns, int64_t element) {
  bool aligned = reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && columns * element % 16 == 0;
  for (std::size_t dim = 0; dim < 3; ++dim) aligned = aligned && strides[dim] * element % 16 == 0;
  return aligned;
}

sm80::MaskType mask_type(const MaskView& mask) {
  if (mask.data == nullptr) return sm80::MaskType::none;
  switch (mask.dtype) {
    case DType::f32:
      return sm80::MaskType::f32;
    case DType::f16:
      return sm80::MaskType::f16;
    case DType::bf16:
      return sm80::MaskType::bf16;
    default:
      return sm80::MaskType::boolean;
  }
}

}  // namespace

void add_row_refusals(const Call& call, std::vector<std::string>& reasons) {
  add_row_refusal("query", call.query, reasons);
  add_row_refusal("key", call.key, reasons);
  add_row_refusal("value", call.value, reasons);
}

std::vector<std::string> cuda_refusals(const Call& call, const CudaLimits& limits) {
  std::vector<std::string> reasons;
  const Tensor& query = call.query;
  const auto& info = query.device().info();
  if (info.compute_major * 10 + info.compute_minor < kLeastCompute) {
    reasons.push_back(fmt::format("it needs a GPU of compute capability 8.0 or newer, and the {} has {}.{}",
                                  info.name, info.compute_major, info.compute_minor));
  }
  if (query.dtype() == DType::f32 && !limits.takes_f32)
    reasons.emplace_back("on a GPU it computes in bf16 and f16, and the inputs are f32");
  if (query.size(3) > limits.max_head_dim) {
    reasons.push_back(
        fmt::format("the query's head_dim is {}, above the limit of {}", query.size(3), limits.max_head_dim));
  }
  if (call.value.size(3) > limits.max_head_dim && call.value.size(3) != query.size(3)) {
    reasons.push_back(fmt::format("the value's head_dim is {}, above the limit of {}", call.value.size(3),
                                  limits.max_head_dim));
  }
  add_row_refusals(call, reasons);
  const int64_t row_tiles = (query.size(2) + kLeastTileRows - 1) / kLeastTileRows;
  const double tiles = static_cast<double>(query.size(0)) * static_cast<double>(query.size(1)) *
                       static_cast<double>(row_tiles);
  const int64_t largest = std::max({query.size(0), query.size(1), query.size(2), call.key.size(2)});
  if (largest > kMaxSize || tiles > static_cast<double>(sm80::kMaxBlocks))
    reasons.emplace_back("its grid has no room for so many rows");
  return reasons;
}

sm80::ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return sm80::ElementType::f32;
    case DType::bf16:
      return sm80::ElementType::bf16;
    default:
      return sm80::ElementType::f16;
  }
}

sm80::AttentionParams cuda_params(const FusedProblem& problem) {
  const int64_t width = problem.value_dim;
  const Strides4 out_strides = {problem.heads * problem.length * width, problem.length * width, width, 1};
  const auto element = static_cast<int64_t>(tensor::size_of(problem.dtype));
  sm80::AttentionParams p = {};
  p.q = problem.query;
  p.k = problem.key;
  p.v = problem.value;
  p.out = problem.out;
  p.lse = problem.lse;
  const auto take = [](const Strides4& from, int64_t& batch, int64_t& head, int64_t& row) {
    batch = from[0];
    head = from[1];
    row = from[2];
  };
  take(problem.query_strides, p.q_batch, p.q_head, p.q_row);
  take(problem.key_strides, p.k_batch, p.k_head, p.k_row);
  take(problem.value_strides, p.v_batch, p.v_head, p.v_row);
  take(out_strides, p.o_batch, p.o_head, p.o_row);
  p.mask = problem.mask.data;
  p.mask_type = mask_type(problem.mask);
  take(problem.mask.strides, p.mask_batch, p.mask_head, p.mask_row);
  p.mask_column = problem.mask.strides[3];
  p.batch = static_cast<int>(problem.batch);
  p.heads = static_cast<int>(problem.heads);
  p.kv_heads = static_cast<int>(problem.kv_heads);
  p.length = static_cast<int>(problem.length);
  p.kv_length = static_cast<int>(problem.kv_length);
  p.head_dim = static_cast<int>(problem.head_dim);
  p.value_dim = static_cast<int>(problem.value_dim);
  p.scale = static_cast<float>(problem.scale);
  p.causal = problem.causal ? 1 : 0;
  p.window = static_cast<int>(std::min<int64_t>(problem.window, std::numeric_limits<int>::max() / 2));
  p.softcap = static_cast<float>(problem.softcap);
  p.aligned = is_aligned(problem.query, problem.query_strides, problem.head_dim, element) &&
              is_aligned(problem.key, problem.key_strides, problem.head_dim, element) &&
              is_aligned(problem.value, problem.value_strides, problem.value_dim, element) &&
              is_aligned(problem.out, out_strides, problem.value_dim, element);
  p.splits = 1;
  return p;
}

}  // namespace hunch::attention::tiles
