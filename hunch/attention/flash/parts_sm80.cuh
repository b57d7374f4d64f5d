// Where the keys are split: how the parts of a tile come together, in the same launch: in shared memory where
// the parts' blocks are a cluster, else, and from cluster to cluster, through memory, where the last to come
// adds them up.
//
// In:  for each part and row an output and a log-sum-exp. Out: the output and log-sum-exp of all. Holds: they
// are added up in order of parts, whoever comes last.
//
// The ladder, one query, batch 8, bf16, GB/s of K and V on one H200, tiles of 64 rows (16 heads x 4096 keys x
// 64; 32 heads in groups of 4 x 4096, 16384 and 65536 keys x 128; PyTorch 2.11's flash 2210, 1200, 4094,
// 4478): a tile for every head: 686 to 1192; packed, tiles of 64 and 32 keys: 2859, 2694, 3598, 3914; of 128
// and 64 keys: 2984, 3120, 4080, 4466; with the parts put together in the same launch: 3338, 3238, 4182, 4532
// (cuDNN 9.19: 3388, 3296, 4212, 4522; before that, two launches, 0.93 to 0.99 of it). More or fewer parts
// than fill the device once: 0.72 to 0.97. From there, as a ratio to cuDNN in the same run, for the first
// three and for 8 heads in a group x 8192 keys (32 parts):
//   a row a warp adds up part by part, all threads fence               0.97  0.97  0.99  0.40
//   one thread fences, a column a thread                                1.00  0.90  0.97   -
//   ... four parts of a row a warp at once                              0.99  0.95  0.99  0.35
//   ... weights in shared memory, eight parts of four columns at once   0.98  1.00  1.00  0.82
//   two parts as a cluster; three of four, to 2048 keys a part          1.02  1.02  1.00   -
// Sixteen parts at once instead of eight: 0.73. Clusters of four and eight that would fill the device do not
// all run at once: 0.72 and 0.69. few_rows_sm80.cuh goes on from here.
#pragma once

#include <cooperative_groups.h>

#include "hunch/attention/flash/flash_kernel.h"
#include "hunch/attention/flash/packed_sm80.cuh"
#include "hunch/attention/tiles/attention_params.h"
#include "hunch/attention/tiles/online_softmax_sm80.cuh"
#include "hunch/attention/tiles/ptx_sm80.cuh"

namespace hunch::attention::sm80 {

// Columns of a part's row in `partial_out`: whole 16 bytes.
__host__ __device__ __forceinline__ int64_t partial_columns(const AttentionParams& p) {
  return (p.value_dim + 3) / 4 * 4;
}

// What a launch needs for the parts of its keys.
inline void split_keys(Launch& launch, const AttentionParams& p, const flash::Kernel& kernel) {
  launch.cluster = static_cast<uint32_t>(kernel.parts.cluster);
  if (kernel.parts.groups() > 1) {
    launch.workspace_floats = int64_t{p.splits} * p.batch * p.heads * p.length * (partial_columns(p) + 1);
    launch.needs_counters = true;  // one a tile; parts.h makes no more than fill a device once
  }
}

// The parts' log-sum-exp, [splits, batch, heads, length], behind their outputs, [splits, batch, heads,
// length, partial_columns].
__device__ __forceinline__ float* partial_lse(const AttentionParams& p, int64_t all_rows) {
  return p.partial_out + p.splits * all_rows * partial_columns(p);
}

// One row (half `h` of an accumulator) to the output or, where keys are split, to part `split`. `at` is the
// row's number among all rows.
template <class T, int kDim>
__device__ __forceinline__ void write_packed_row(const AttentionParams& p, int batch, int head, int position,
                                                 int split, int64_t at, float lse,
                                                 const float (&out)[kDim / 8][4], int h, float inverse,
                                                 int lane) {
  const int64_t all_rows = static_cast<int64_t>(p.batch) * p.heads * p.length;
  if (p.splits > 1) {
    const int64_t part = split * all_rows + at;
    if (lane % 4 == 0) __stcg(partial_lse(p, all_rows) + part, lse);
    float* const target = p.partial_out + part * partial_columns(p);
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d) {
      const int column = d * 8 + (lane % 4) * 2;
      if (column < p.value_dim)
        __stcg(reinterpret_cast<float2*>(target + column),
               make_float2(out[d][2 * h] * inverse, out[d][2 * h + 1] * inverse));
    }
    return;
  }
  if (p.lse != nullptr && lane % 4 == 0) p.lse[at] = lse;
  T* const target = static_cast<T*>(p.out) + batch * p.o_batch + head * p.o_head + position * p.o_row;
#pragma unroll
  for (int d = 0; d < kDim / 8; ++d)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int column = d * 8 + (lane % 4) * 2 + e;
      if (column < p.value_dim) target[column] = T(out[d][2 * h + e] * inverse);
    }
}

// True for the block that is the last to come here of `parts` with the same counter, for all its threads:
// what the others wrote before is then there to be read. The counter is zero again after it. `flag` is shared
// memory that no one else uses.
__device__ __forceinline__ bool is_last_part(unsigned* counter, int parts, int* flag) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // of what all threads wrote, as they met at the barrier
    const auto others = static_cast<unsigned>(parts - 1);
    *flag = atomicInc(counter, others) == others ? 1 : 0;
    __threadfence();
  }
  __syncthreads();
  return *flag != 0;
}

// Where what was added up goes: to the output.
template <class T, class Rows>
struct ToOutput {
  const AttentionParams& p;
  const Rows& rows;

  __device__ __forceinline__ void lse(int local, float value) const {
    const int row = rows.first + local;
    if (p.lse != nullptr)
      p.lse[(static_cast<int64_t>(rows.batch) * p.heads + rows.head_of(row)) * p.length +
            rows.position(row)] = value;
  }
  __device__ __forceinline__ void four(int local, int column, float4 values) const {
    const int row = rows.first + local;
    T* const target = static_cast<T*>(p.out) + rows.batch * p.o_batch + rows.head_of(row) * p.o_head +
                      rows.position(row) * p.o_row + column;
    if (p.aligned) {
      *reinterpret_cast<uint2*>(target) =
          make_uint2(pack<T>(values.x, values.y), pack<T>(values.z, values.w));
      return;
    }
    target[0] = T(values.x);
    if (column + 1 < p.value_dim) target[1] = T(values.y);
    if (column + 2 < p.value_dim) target[2] = T(values.z);
    if (column + 3 < p.value_dim) target[3] = T(values.w);
  }
};

// Where a block's part goes: to memory, for the last block of the tile.
struct ToPart {
  float* outs;  // of the tile's first row
  float* lses;
  int64_t columns;

  __device__ __forceinline__ void lse(int local, float value) const { __stcg(lses + local, value); }
  __device__ __forceinline__ void four(int local, int column, float4 values) const {
    __stcg(reinterpret_cast<float4*>(outs + local * columns + column), values);
  }
};

// out += weight_s value_s, in order, of parts `first` to first + kAtOnce, where there are so many.
template <int kAtOnce>
__device__ __forceinline__ void add_weighted(float4& out, const float* weights,
                                             const float4 (&values)[kAtOnce], int first, int parts) {
#pragma unroll
  for (int s = 0; s < kAtOnce; ++s)
    if (first + s < parts) {
      const float weight = weights[first + s];
      out.x += weight * values[s].x;
      out.y += weight * values[s].y;
      out.z += weight * values[s].z;
      out.w += weight * values[s].w;
    }
}

// out = sum over parts of exp(lse_s - lse) out_s, in order of parts, for the first `count` rows of a tile.
// lse(s, local) and value(s, local, column) say what part s found for row `local`, four columns at a time;
// each has a way to go, so those of several parts are asked for at once, the first of them before the weights
// are known. By all threads of a block; of a row's columns this one takes every `sharers`th four, from
// `share` on. `weights` is shared memory, rows x parts, that nobody reads any more.
template <int kWarps, class Lse, class Value, class Target>
__device__ __forceinline__ void add_up_parts(int count, int columns, float* weights, int parts, int share,
                                             int sharers, const Lse& lse, const Value& value,
                                             const Target& target) {
  constexpr int kAtOnce = 8;  // 16: 0.89 to 0.99 of the speed
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int fours = (columns + 3) / 4, step = kWarps * 32 * sharers;
  float4 values[kAtOnce];
  const auto fetch = [&](int i, int first) {
    if (i >= count * fours) return;
#pragma unroll
    for (int s = 0; s < kAtOnce; ++s)
      if (first + s < parts) values[s] = value(first + s, i / fours, i % fours * 4);
  };
  int i = thread * sharers + share;
  for (int at = thread; at < count * parts; at += kWarps * 32) weights[at] = lse(at % parts, at / parts);
  fetch(i, 0);
  __syncthreads();
  for (int local = warp; local < count; local += kWarps) {
    float* const row = weights + local * parts;
    float most = -INFINITY, sum = 0.0f;
    for (int s = lane; s < parts; s += 32) most = fmaxf(most, row[s]);
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
    const float finite = most == -INFINITY ? 0.0f : most;
    for (int s = lane; s < parts; s += 32) {
      row[s] = expf(row[s] - finite);
      sum += row[s];
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    const float inverse = sum != 0.0f ? 1.0f / sum : 0.0f;
    for (int s = lane; s < parts; s += 32) row[s] *= inverse;
    if (lane == 0 && share == 0) target.lse(local, sum != 0.0f ? most + logf(sum) : -INFINITY);
  }
  __syncthreads();
  for (; i < count * fours; i += step) {
    const float* const row = weights + i / fours * parts;
    float4 out = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int first = 0; first < parts; first += kAtOnce) {
      add_weighted(out, row, values, first, parts);
      const bool more = first + kAtOnce < parts;
      fetch(more ? i : i + step, more ? first + kAtOnce : 0);
    }
    target.four(i / fours, i % fours * 4, out);
  }
}

// The same of at most kMost parts: each thread makes the weights of its row for itself, which is shorter than
// to meet over them.
template <int kMost, int kWarps, class Lse, class Value, class Target>
__device__ __forceinline__ void add_up_few_parts(int count, int columns, int parts, int share, int sharers,
                                                 const Lse& lse, const Value& value, const Target& target) {
  constexpr int kAtOnce = kMost < 8 ? kMost : 8;
  const int fours = (columns + 3) / 4;
  for (int i = static_cast<int>(threadIdx.x) * sharers + share; i < count * fours;
       i += kWarps * 32 * sharers) {
    const int local = i / fours, column = i % fours * 4;
    float weights[kMost];
    float most = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int s = 0; s < kMost; ++s) weights[s] = s < parts ? lse(s, local) : -INFINITY;
#pragma unroll
    for (int s = 0; s < kMost; ++s) most = fmaxf(most, weights[s]);
    const float finite = most == -INFINITY ? 0.0f : most;
#pragma unroll
    for (int s = 0; s < kMost; ++s) {
      weights[s] = exp2_fast((weights[s] - finite) * kLog2E);
      sum += weights[s];
    }
    float4 out = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int first = 0; first < kMost; first += kAtOnce) {
      if (first >= parts) break;
      float4 values[kAtOnce];
#pragma unroll
      for (int s = 0; s < kAtOnce; ++s)
        if (first + s < parts) values[s] = value(first + s, local, column);
      add_weighted(out, weights, values, first, parts);
    }
    const float inverse = sum != 0.0f ? 1.0f / sum : 0.0f;
    target.four(local, column,
                make_float4(out.x * inverse, out.y * inverse, out.z * inverse, out.w * inverse));
    if (column == 0) target.lse(local, sum != 0.0f ? most + logf(sum) : -INFINITY);
  }
}

// The parts that blocks, or clusters of them, left in `partial_out`, by all threads of one block. `shared`
// has kRows x kMostParts floats.
template <class T, int kRows, int kWarps, class Rows>
__device__ __forceinline__ void combine_parts(const AttentionParams& p, const Rows& rows, int parts,
                                              float* shared) {
  const int64_t all_rows = static_cast<int64_t>(p.batch) * p.heads * p.length;
  // The rows of a tile are those of neighbouring heads, and so stand below each other.
  const int64_t first = (static_cast<int64_t>(rows.batch) * p.heads + rows.head) * p.length + rows.first;
  const float* const lses = partial_lse(p, all_rows) + first;
  const float* const outs = p.partial_out + first * partial_columns(p);
  const int64_t part = all_rows * partial_columns(p);
  const int count = min(kRows, rows.end - rows.first);
  const auto lse = [&](int s, int local) { return __ldcg(lses + s * all_rows + local); };
  const auto value = [&](int s, int local, int column) {
    return __ldcg(reinterpret_cast<const float4*>(outs + s * part + local * partial_columns(p) + column));
  };
  const ToOutput<T, Rows> output{p, rows};
  constexpr int kFew = 8;
  if (parts <= kFew)
    add_up_few_parts<kFew, kWarps>(count, p.value_dim, parts, 0, 1, lse, value, output);
  else
    add_up_parts<kWarps>(count, p.value_dim, shared, parts, 0, 1, lse, value, output);
}

// The parts of a tile as a cluster of blocks: each block leaves its rows in its own shared memory, and all
// blocks add up, each a share of the elements. `shared` has kBytes.
template <int kDim, int kRows>
class PartsInCluster {
 public:
  static constexpr int kBytes = kRows * (kDim + 1) * 4;

  __device__ __forceinline__ explicit PartsInCluster(char* shared)
      : out_(reinterpret_cast<float*>(shared)), lse_(out_ + kRows * kDim) {}

  // 1 where blocks stand alone, as on every device before sm_90.
  __device__ __forceinline__ int blocks() const {
#if __CUDA_ARCH__ >= 900
    return static_cast<int>(cooperative_groups::cluster_group::num_blocks());
#else
    return 1;
#endif
  }

  __device__ __forceinline__ void put(int local, const float (&out)[kDim / 8][4], int h, float inverse,
                                      float lse, int lane) const {
    if (lane % 4 == 0) lse_[local] = lse;
#pragma unroll
    for (int d = 0; d < kDim / 8; ++d)
      *reinterpret_cast<float2*>(out_ + local * kDim + d * 8 + lane % 4 * 2) =
          make_float2(out[d][2 * h] * inverse, out[d][2 * h + 1] * inverse);
  }

  // As a target of add_up_parts.
  __device__ __forceinline__ void lse(int local, float value) const { lse_[local] = value; }
  __device__ __forceinline__ void four(int local, int column, float4 values) const {
    *reinterpret_cast<float4*>(out_ + local * kDim + column) = values;
  }

  // Adds up the first `count` rows of all blocks, each a share of the elements: by all threads of all blocks.
  template <int kWarps, class Target>
  __device__ __forceinline__ void combine(int count, int columns, const Target& target) const {
#if __CUDA_ARCH__ >= 900
    const auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    add_up_few_parts<flash::kMostClustered, kWarps>(
        count, columns, blocks(), static_cast<int>(cluster.block_rank()), blocks(),
        [&](int s, int local) { return *cluster.map_shared_rank(lse_ + local, s); },
        [&](int s, int local, int column) {
          return *reinterpret_cast<const float4*>(cluster.map_shared_rank(out_ + local * kDim + column, s));
        },
        target);
    cluster.sync();  // no block may go while another reads from it
#endif
  }

 private:
  float* out_;
  float* lse_;
};

}  // namespace hunch::attention::sm80
