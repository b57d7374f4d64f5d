// The instances of the Hopper kernel: tensor maps, schedule and launch of the one that flash_kernel.h chose.
#include "hunch/attention/flash/flash_sm90.h"

#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <type_traits>

#include "hunch/attention/flash/flash_sm90.cuh"
#include "hunch/attention/tiles/launch_sm80.cuh"

namespace hunch::attention::sm90 {
namespace {

using sm80::ElementType;
using sm80::Launch;

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's encoder, or null on a driver without one.
Encode encoder() {
  static const Encode kEncode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    cudaGetLastError();
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(found)
                                                                         : nullptr;
  }();
  return kEncode;
}

struct View {
  const void* data;
  int64_t batch, head, row;  // strides in elements
  int batches, heads, rows, columns;
};

bool encode(CUtensorMap& map, const View& view, ElementType type, int box_rows) {
  const Encode encode = encoder();
  if (encode == nullptr) return false;
  // A stride of a dimension of size 1 is never used, and may be anything: give it one that is allowed.
  const auto bytes = [](int64_t stride, int size) {
    return static_cast<cuuint64_t>(size > 1 ? stride * 2 : 16);
  };
  const cuuint64_t sizes[4] = {static_cast<cuuint64_t>(view.columns), static_cast<cuuint64_t>(view.rows),
                               static_cast<cuuint64_t>(view.heads), static_cast<cuuint64_t>(view.batches)};
  const cuuint64_t strides[3] = {bytes(view.row, view.rows), bytes(view.head, view.heads),
                                 bytes(view.batch, view.batches)};
  const cuuint32_t box[4] = {64, static_cast<cuuint32_t>(box_rows), 1, 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  return encode(
             &map,
             type == ElementType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
             4, const_cast<void*>(view.data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool make_maps(Maps& maps, const AttentionParams& p, ElementType type, int rows, int keys) {
  return encode(maps.q, {p.q, p.q_batch, p.q_head, p.q_row, p.batch, p.heads, p.length, p.head_dim}, type,
                rows) &&
         encode(maps.k, {p.k, p.k_batch, p.k_head, p.k_row, p.batch, p.kv_heads, p.kv_length, p.head_dim},
                type, keys) &&
         encode(maps.v, {p.v, p.v_batch, p.v_head, p.v_row, p.batch, p.kv_heads, p.kv_length, p.value_dim},
                type, keys);
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  cudaDeviceGetAttribute(&value, which, sm80::current_device());
  return value;
}

// What the kernel takes beside the parameters.
struct Extra {
  Maps maps;
  Schedule schedule;
};

template <class Shape>
std::optional<Launch> make(const AttentionParams& p, std::string_view name) {
  constexpr auto kType = std::is_same_v<typename Shape::T, __half> ? ElementType::f16 : ElementType::bf16;
  const auto extra = std::make_shared<Extra>();
  if (!make_maps(extra->maps, p, kType, Shape::kRows, Shape::kKeys)) return std::nullopt;
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  extra->schedule =
      make_schedule(p, Shape::kSize, Shape::kConsumers, multiprocessors, attribute(cudaDevAttrL2CacheSize));
  const bool shares = extra->schedule.shared > 0;
  const int blocks = blocks_of(extra->schedule, multiprocessors);
  Launch launch =
      sm80::describe_launch<flash_forward_kernel<Shape>>(name, blocks, Shape::kThreads, Shape::kSharedBytes);
  launch.needs_counters = shares || extra->schedule.dealt != 0;
  if (shares) launch.workspace_floats = int64_t{2} * blocks * Shape::kConsumers * Shape::kPartFloats;
  launch.extra = extra;
  launch.run = [](const AttentionParams& params, const Launch& self, void* stream) -> int {
    const auto& own = *static_cast<const Extra*>(self.extra.get());
    AttentionParams copy = params;
    Maps maps = own.maps;
    Schedule schedule = own.schedule;
    void* arguments[] = {&copy, &maps, &schedule};
    return cudaLaunchKernel(reinterpret_cast<const void*>(flash_forward_kernel<Shape>),
                            dim3(static_cast<unsigned>(self.blocks)), dim3(self.threads), arguments,
                            static_cast<std::size_t>(self.dynamic_bytes), static_cast<cudaStream_t>(stream));
  };
  return launch;
}

template <class T, flash::Shape kShape>
std::optional<Launch> make_of(const AttentionParams& p, std::string_view name) {
  constexpr flash::Tile kTile = flash::tile_of(kShape);
  return make<Shape90<T, kTile.dim, kTile.rows, kTile.keys, kTile.stages, kTile.query_stages>>(p, name);
}

template <class T>
std::optional<Launch> launch_of(const AttentionParams& p, const flash::Kernel& kernel,
                                std::string_view name) {
  using flash::Shape;
  switch (kernel.shape) {
    case Shape::hopper64:
      return make_of<T, Shape::hopper64>(p, name);
    case Shape::hopper128:
      return make_of<T, Shape::hopper128>(p, name);
    case Shape::hopper128_long:
      return make_of<T, Shape::hopper128_long>(p, name);
    case Shape::hopper256:
      return make_of<T, Shape::hopper256>(p, name);
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Launch> flash_forward(const AttentionParams& p, ElementType type, const flash::Kernel& kernel) {
  const std::string_view name = flash::kernel_name(kernel, type);
  return type == ElementType::bf16 ? launch_of<__nv_bfloat16>(p, kernel, name)
                                   : launch_of<__half>(p, kernel, name);
}

}  // namespace hunch::attention::sm90
