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
// all run at once: 0.72 and 0.69. few_rows_sm80.cuh goes on from here; there, over the form before, 1 to 8
// tiles of 512 to 32768 keys, at 1 to 16 rows:
//   columns known to the compiler, so that nothing is divided           1.02 to 1.08
//   code of its own for 2, 4, 8 and 16 parts                            1.02 to 1.04, through memory to 1.25
//   a thread has one row, so makes weights once; a block's warps leave
//   sums in place of normalised rows                                    1.01 to 1.07, 16 rows x 256 to 1.17
// With few warps a multiprocessor it is instructions that count: two elements a thread at once, 0.88 to 0.92.
#pragma once

#include <cooperative_groups.h>

#include <bit>

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

__host__ __device__ __forceinline__ int64_t all_rows(const AttentionParams& p) {
  return int64_t{p.batch} * p.heads * p.length;
}

// What a launch needs for the parts of its keys.
inline void split_keys(Launch& launch, const AttentionParams& p, const flash::Kernel& kernel) {
  launch.cluster = static_cast<uint32_t>(kernel.parts.cluster);
  if (kernel.parts.groups() > 1) {
    launch.workspace_floats = p.splits * all_rows(p) * (partial_columns(p) + 1);
    launch.needs_counters = true;  // one a tile; parts.h makes no more than fill a device once
  }
}

// The parts' log-sum-exp, [splits, batch, heads, length], behind their outputs, [splits, batch, heads,
// length, partial_columns].
__device__ __forceinline__ float* partial_lse(const AttentionParams& p) {
  return p.partial_out + p.splits * all_rows(p) * partial_columns(p);
}

// One row (half `h` of an accumulator) to the output or, where keys are split, to part `split`. `at` is the
// row's number among all rows.
template <class T, int kDim>
__device__ __forceinline__ void write_packed_row(const AttentionParams& p, int batch, int head, int position,
                                                 int split, int64_t at, float lse,
                                                 const float (&out)[kDim / 8][4], int h, float inverse,
                                                 int lane) {
  if (p.splits > 1) {
    const int64_t part = split * all_rows(p) + at;
    if (lane % 4 == 0) __stcg(partial_lse(p) + part, lse);
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

// The parts of a tile in `partial_out`, for the last block of it. The rows of a tile are those of
// neighbouring heads, and so stand below each other; `first` is the number of the first among all rows.
class PartsInMemory {
 public:
  __device__ __forceinline__ PartsInMemory(const AttentionParams& p, int64_t first)
      : columns_(partial_columns(p)),
        rows_(all_rows(p)),
        outs_(p.partial_out + first * columns_),
        lses_(partial_lse(p) + first) {}

  __device__ __forceinline__ float lse(int s, int local) const { return __ldcg(lses_ + s * rows_ + local); }
  __device__ __forceinline__ float4 four(int s, int local, int column) const {
    return __ldcg(reinterpret_cast<const float4*>(outs_ + (s * rows_ + local) * columns_ + column));
  }

  // Where a block's part goes.
  struct Target {
    float* outs;
    float* lses;
    int64_t columns;

    __device__ __forceinline__ void lse(int local, float value) const { __stcg(lses + local, value); }
    __device__ __forceinline__ void four(int local, int column, float4 values) const {
      __stcg(reinterpret_cast<float4*>(outs + local * columns + column), values);
    }
  };
  __device__ __forceinline__ Target target(int part) const {
    return {outs_ + part * rows_ * columns_, lses_ + part * rows_, columns_};
  }

 private:
  int64_t columns_, rows_;
  float* outs_;
  float* lses_;
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
// are known. By all threads of a block. `weights` is shared memory, rows x parts, that nobody reads any more.
template <int kWarps, class Lse, class Value, class Target>
__device__ __forceinline__ void add_up_parts(int count, int columns, float* weights, int parts,
                                             const Lse& lse, const Value& value, const Target& target) {
  constexpr int kAtOnce = 8;  // 16: 0.89 to 0.99 of the speed
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int fours = (columns + 3) / 4, step = kWarps * 32;
  float4 values[kAtOnce];
  const auto fetch = [&](int i, int first) {
    if (i >= count * fours) return;
#pragma unroll
    for (int s = 0; s < kAtOnce; ++s)
      if (first + s < parts) values[s] = value(first + s, i / fours, i % fours * 4);
  };
  int i = thread;
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
    if (lane == 0) target.lse(local, sum != 0.0f ? most + logf(sum) : -INFINITY);
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

// The weight of a row in one part: sum times e^log.
struct Mass {
  float log, sum;
};

// The same of at most kMost parts: each thread makes the weights of its row for itself, which is shorter than
// to meet over them. mass(s, local) is in place of lse, and a part's values are so many times too large as
// its sum says. No more rows than threads; of a row's columns this block takes every `sharers`th four, from
// `share` on.
template <int kDim, int kMost, int kWarps, class MassOf, class Value, class Target>
__device__ __forceinline__ void add_up_few_parts(int count, int columns, int parts, int share, int sharers,
                                                 const MassOf& mass, const Value& value,
                                                 const Target& target) {
  constexpr int kAtOnce = kMost < 8 ? kMost : 8;
  // Threads that have a row together, of all blocks' threads: a power of two.
  const int threads = kWarps * 32 * sharers;
  constexpr int kMostShift = std::countr_zero(static_cast<unsigned>(kDim / 4));
  int shift = kMostShift;
  while (count << shift > threads) --shift;
  const int mine = static_cast<int>(threadIdx.x) * sharers + share, local = mine >> shift;
  if (local >= count) return;
  float weights[kMost];
  float most = -INFINITY, sum = 0.0f;
  {
    float sums[kMost];
#pragma unroll
    for (int s = 0; s < kMost; ++s) {
      const Mass one = s < parts ? mass(s, local) : Mass{-INFINITY, 0.0f};
      weights[s] = one.log;
      sums[s] = one.sum;
    }
#pragma unroll
    for (int s = 0; s < kMost; ++s) most = fmaxf(most, weights[s]);
    const float finite = most == -INFINITY ? 0.0f : most;
#pragma unroll
    for (int s = 0; s < kMost; ++s) {
      weights[s] = exp2_fast((weights[s] - finite) * kLog2E);
      sum += weights[s] * sums[s];
    }
  }
  const float inverse = sum != 0.0f ? __fdividef(1.0f, sum) : 0.0f;
#pragma unroll
  for (int s = 0; s < kMost; ++s) weights[s] *= inverse;
  const int first_column = (mine & ((1 << shift) - 1)) * 4;
  if (first_column == 0) target.lse(local, sum != 0.0f ? most + __logf(sum) : -INFINITY);
  for (int column = first_column; column < columns; column += 4 << shift) {
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
    target.four(local, column, out);
  }
}

// The same with room for the least power of two that holds the parts: each has code of its own, and the less
// of it, the sooner it is there.
template <int kDim, int kMost, int kWarps, class MassOf, class Value, class Target>
__device__ __forceinline__ void add_up_at_most(int count, int columns, int parts, int share, int sharers,
                                               const MassOf& mass, const Value& value, const Target& target) {
  if constexpr (kMost > 2) {
    if (parts <= kMost / 2)
      return add_up_at_most<kDim, kMost / 2, kWarps>(count, columns, parts, share, sharers, mass, value,
                                                     target);
  }
  add_up_few_parts<kDim, kMost, kWarps>(count, columns, parts, share, sharers, mass, value, target);
}

// Adds up the parts that blocks, or clusters of them, left in memory, by all threads of one block. `shared`
// has count x parts floats.
template <int kDim, int kWarps, class Target>
__device__ __forceinline__ void combine_parts(int count, int columns, int parts, const PartsInMemory& from,
                                              float* shared, const Target& target) {
  const auto lse = [&](int s, int local) { return from.lse(s, local); };
  const auto value = [&](int s, int local, int column) { return from.four(s, local, column); };
  constexpr int kFew = 8;
  if (parts <= kFew)
    add_up_at_most<kDim, kFew, kWarps>(
        count, columns, parts, 0, 1,
        [&](int s, int local) {
          return Mass{from.lse(s, local), 1.0f};
        },
        value, target);
  else
    add_up_parts<kWarps>(count, columns, shared, parts, lse, value, target);
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
    const auto mass = [&](int s, int local) { return Mass{*cluster.map_shared_rank(lse_ + local, s), 1.0f}; };
    const auto value = [&](int s, int local, int column) {
      return *reinterpret_cast<const float4*>(cluster.map_shared_rank(out_ + local * kDim + column, s));
    };
    const int share = static_cast<int>(cluster.block_rank()), sharers = blocks();
    add_up_at_most<kDim, flash::kMostClustered, kWarps>(count, columns, sharers, share, sharers, mass, value,
                                                        target);
    cluster.sync();  // no block may go while another reads from it
#endif
  }

 private:
  float* out_;
  float* lse_;
};

}  // namespace hunch::attention::sm80
