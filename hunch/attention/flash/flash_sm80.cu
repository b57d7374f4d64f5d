// Which instance of the sm_80 kernel a problem takes, its launch, and the kernel that combines parts.
//
// Shapes by measurement on one H200 (ladder in flash_sm80.cuh): head_dim to 64: 128 rows x 64 keys, and 64 x
// 64 for short causal ones, where small tiles waste less above the diagonal; to 128: 128 x 48; to 256: 128 x
// 80 on devices with the shared memory for it, 64 x 32 on those without (sm_86, sm_89). Masks and scales that
// are not positive take the general kernel.
#include "hunch/attention/flash/flash_sm80.cuh"

#include <algorithm>

namespace hunch::attention::sm80 {
namespace {

// out = sum over parts of exp(lse_s - lse) out_s; one warp a row.
template <class T>
__global__ void combine_parts(const __grid_constant__ FlashParams p) {
  const int64_t rows = static_cast<int64_t>(p.batch) * p.heads * p.length;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (at >= rows) return;
  float most = -INFINITY;
  for (int s = 0; s < p.splits; ++s) most = fmaxf(most, p.partial_lse[s * rows + at]);
  float sum = 0.0f;
  for (int s = 0; s < p.splits && most > -INFINITY; ++s) sum += expf(p.partial_lse[s * rows + at] - most);
  const int64_t bh = at / p.length;
  const int64_t row = at % p.length;
  T* const out = static_cast<T*>(p.out) + bh / p.heads * p.o_batch + bh % p.heads * p.o_head + row * p.o_row;
  for (int d = lane; d < p.head_dim; d += 32) {
    float value = 0.0f;
    for (int s = 0; s < p.splits && most > -INFINITY; ++s)
      value += expf(p.partial_lse[s * rows + at] - most) * p.partial_out[(s * rows + at) * p.head_dim + d];
    out[d] = T(most > -INFINITY ? value / sum : 0.0f);
  }
  if (p.lse != nullptr && lane == 0) p.lse[at] = most > -INFINITY ? most + logf(sum) : -INFINITY;
}

template <class Shape, bool kGeneral, bool kSplit>
cudaError_t launch(const FlashParams& p, cudaStream_t stream) {
  auto* const kernel = flash_forward_kernel<Shape, kGeneral, kSplit>;
  const cudaError_t limit =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  if (limit != cudaSuccess) return limit;
  const int64_t tiles = (p.length + Shape::kRows - 1) / Shape::kRows;
  const int64_t blocks = tiles * p.batch * p.heads * (kSplit ? p.splits : 1);
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  kernel<<<static_cast<unsigned>(blocks), Shape::kThreads, Shape::kSharedBytes, stream>>>(p);
  return cudaGetLastError();
}

bool is_general(const FlashParams& p) { return p.mask != nullptr || !(p.scale > 0.0f); }

// Shared memory that a block may opt in to on the current device.
int shared_limit() {
  int device = 0, bytes = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return bytes;
}

template <class T>
cudaError_t run(const FlashParams& p, cudaStream_t stream) {
  using Small = FlashShape<T, 64, 64, 64, 4, 3, true>;
  using Narrow = FlashShape<T, 64, 128, 64, 4, 2, true>;
  using Middle = FlashShape<T, 128, 128, 48, 4, 2, false>;
  using Wide = FlashShape<T, 256, 128, 80, 8, 1, false>;
  using General64 = FlashShape<T, 64, 64, 64, 4, 2, true>;
  using General128 = FlashShape<T, 128, 64, 32, 4, 2, true>;
  using General256 = FlashShape<T, 256, 64, 32, 4, 1, false>;
  const bool general = is_general(p);
  if (p.splits > 1) {
    const cudaError_t parts = p.head_dim <= 64    ? launch<General64, true, true>(p, stream)
                              : p.head_dim <= 128 ? launch<General128, true, true>(p, stream)
                                                  : launch<General256, true, true>(p, stream);
    if (parts != cudaSuccess) return parts;
    const int64_t rows = static_cast<int64_t>(p.batch) * p.heads * p.length;
    combine_parts<T><<<static_cast<unsigned>((rows + 3) / 4), 128, 0, stream>>>(p);
    return cudaGetLastError();
  }
  if (p.head_dim <= 64) {
    if (general) return launch<General64, true, false>(p, stream);
    return p.causal && p.length <= 1024 ? launch<Small, false, false>(p, stream)
                                        : launch<Narrow, false, false>(p, stream);
  }
  if (p.head_dim <= 128)
    return general ? launch<General128, true, false>(p, stream) : launch<Middle, false, false>(p, stream);
  if (general || shared_limit() < Wide::kSharedBytes) return launch<General256, true, false>(p, stream);
  return launch<Wide, false, false>(p, stream);
}

}  // namespace

int flash_splits(const FlashParams& p, int multiprocessors) {
  const int rows = 64;
  const int keys = 64;
  const int64_t blocks = static_cast<int64_t>(p.batch) * p.heads * ((p.length + rows - 1) / rows);
  const int64_t slots = int64_t{2} * multiprocessors;
  if (blocks == 0 || blocks * 4 > slots * 3 || p.causal) return 1;
  const int64_t most = std::max(1, p.kv_length / (4 * keys));  // a part is worth at least four tiles
  return static_cast<int>(std::clamp<int64_t>(slots / blocks, 1, std::min<int64_t>(most, 64)));
}

int flash_forward(FlashParams params, ElementType type, void* stream) {
  if (params.head_dim > 256 || params.head_dim < 1) return cudaErrorInvalidValue;
  if (static_cast<int64_t>(params.batch) * params.heads * params.length == 0) return cudaSuccess;
  params.tile_major = params.causal;
  auto* const cuda_stream = static_cast<cudaStream_t>(stream);
  return type == ElementType::bf16 ? run<__nv_bfloat16>(params, cuda_stream)
                                   : run<__half>(params, cuda_stream);
}

}  // namespace hunch::attention::sm80
