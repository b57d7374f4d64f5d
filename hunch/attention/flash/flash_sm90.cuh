// FlashAttention for Hopper: tiles by the copy engine, products by wgmma, a persistent grid.
//
// In:  an AttentionParams without a mask, positive scale, rows on 16 bytes, and the tensor maps of q, k and
// v. Out: out, and the log-sum-exp where asked for. Bit-equal from run to run: no atomics, a fixed order of
// tiles.
//
// A block has one producer warpgroup, whose first thread loads, and two or three consumer warpgroups with 64
// rows of the query each. K and V go through a ring of stages guarded by pairs of barriers (full, empty).
// Each consumer issues the next tile's scores before this tile's product with V, and works on the softmax
// while both run; the consumers take turns at issuing, so that one's softmax hides under another's products.
// Tiles of a causal problem go heaviest first, dealt to blocks in a snake.
//
// Ladder on an H200, bf16, TFLOP/s: causal 1,16,16384,64; causal 1,16,16384,128; causal 2,8,8192,256; the
// same three full. Clocks differ between runs: compare with the cuDNN 9.19 of the same one.
//
// - sm_80 kernel: 328, 349, 308; 325, 364, 313.
// - This one, heads in groups that fit L2, tiles dealt in a snake: 465, 544, 604; 505, 608, 710 (cuDNN 451,
//   626, 634; 489, 606, 745).
// - Warpgroups pass over key tiles above their own diagonal; all heads dealt together, as the groups' ends
//   had left blocks idle: 536, 669, 711; 509, 613, 763 (cuDNN 441, 617, 633; 485, 648, 744).
// - Outputs rescaled only where a maximum moved; a second place for queries: 531, 635, 722; 532, 635, 763
//   (cuDNN 436, 559, 602; 484, 652, 748).
//
// Slower: part of the exponentials as a polynomial on the FMA pipe (2 of 8: 0.86 of the time without, as that
// pipe is as busy as the special units); clusters of two blocks that share K and V by multicast (0.82 to
// 0.92); consumers without turns (0.77 to 0.92); at head_dim 64, 96 or 80 keys a tile (0.91), or 128 rows
// (0.78 to 0.98).
//
// Behind cuDNN still at head_dim 128, full, by 2 to 4 %; hardware counters have not been read for why.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hunch/attention/flash/ptx_sm90.cuh"
#include "hunch/attention/flash/wgmma_sm90.cuh"
#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm90 {

using sm80::AttentionParams;

struct Maps {
  CUtensorMap q, k, v;
};

// How the tiles are laid out; made on the host.
struct Schedule {
  int tiles;      // in all
  int row_tiles;  // of one head
};

template <class Type, int kDimension, int kTileRows, int kTileKeys, int kRing, int kQueryRing>
struct Shape90 {
  using T = Type;
  static constexpr int kDim = kDimension;  // head_dim rounded up: 64, 128 or 256
  static constexpr int kConsumers = kTileRows / 64;
  static constexpr int kRows = kTileRows;
  static constexpr int kKeys = kTileKeys;
  static constexpr int kStages = kRing;
  static constexpr int kQueries = kQueryRing;
  static constexpr int kThreads = (kConsumers + 1) * 128;
  static constexpr int kPanels = kDim / 64;
  static constexpr int kQueryBytes = kRows * kDim * 2;
  static constexpr int kTileBytes = kKeys * kDim * 2;
  static constexpr int kBarrierBytes = 256;
  static constexpr int kSharedBytes =
      1024 + kQueries * kQueryBytes + 2 * kStages * kTileBytes + kBarrierBytes;
  static constexpr int kProducerRegisters = kConsumers == 2 ? 40 : 32;
  static constexpr int kConsumerRegisters = kConsumers == 2 ? 232 : 160;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t pack(float low, float high, __nv_bfloat16) {
  uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
__device__ __forceinline__ uint32_t pack(float low, float high, __half) {
  uint32_t bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// Addresses in shared memory.
template <class Shape>
struct Layout {
  uint32_t base;
  __device__ uint32_t query(int stage) const { return base + stage * Shape::kQueryBytes; }
  __device__ uint32_t key(int stage) const { return query(Shape::kQueries) + stage * Shape::kTileBytes; }
  __device__ uint32_t value(int stage) const { return key(Shape::kStages + stage); }
  __device__ uint32_t barrier(int index) const { return key(2 * Shape::kStages) + 8 * index; }
  __device__ uint32_t query_full(int stage) const { return barrier(stage); }
  __device__ uint32_t query_empty(int stage) const { return barrier(2 + stage); }
  __device__ uint32_t key_full(int stage) const { return barrier(4 + stage); }
  __device__ uint32_t key_empty(int stage) const { return barrier(4 + Shape::kStages + stage); }
  __device__ uint32_t value_full(int stage) const { return barrier(4 + 2 * Shape::kStages + stage); }
  __device__ uint32_t value_empty(int stage) const { return barrier(4 + 3 * Shape::kStages + stage); }
};

// A place in the ring: the stage, and the parity of its phase.
template <int kStages>
struct Place {
  int stage = 0;
  int parity = 0;
  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Tile {
  int row;  // first
  int head, batch;
  int key_tiles;
};

// The index-th tile that this block works on; false when there are no more.
template <class Shape>
__device__ __forceinline__ bool tile_at(int index, const AttentionParams& p, const Schedule& schedule,
                                        Tile& tile) {
  const int blocks = static_cast<int>(gridDim.x);
  const int block = static_cast<int>(blockIdx.x);
  const bool back = p.causal && (index & 1);
  const int at = index * blocks + (back ? blocks - 1 - block : block);
  if (at >= schedule.tiles) return false;
  // Full: the tiles of a head in a row, which share its K and V. Causal: those of all heads by size.
  const int pairs = p.batch * p.heads;
  const int pair = p.causal ? at % pairs : at / schedule.row_tiles;
  const int row_tile = p.causal ? schedule.row_tiles - 1 - at / pairs : at % schedule.row_tiles;
  tile.row = row_tile * Shape::kRows;
  tile.batch = pair / p.heads;
  tile.head = pair - tile.batch * p.heads;
  const int keys = p.causal ? min(p.kv_length, tile.row + Shape::kRows) : p.kv_length;
  tile.key_tiles = (keys + Shape::kKeys - 1) / Shape::kKeys;
  return true;
}

template <class Shape>
__device__ __forceinline__ void produce(const AttentionParams& p, const Maps& maps, const Schedule& schedule,
                                        const Layout<Shape>& layout) {
  if (threadIdx.x != 0) return;
  const auto load_tile = [&](const CUtensorMap& map, uint32_t target, uint32_t full, int tile_rows, int row,
                             int head, int batch) {
    for (int panel = 0; panel < Shape::kPanels; ++panel)
      load_box(target + panel * tile_rows * 128, &map, full, panel * 64, row, head, batch);
  };
  prefetch_map(&maps.q);
  prefetch_map(&maps.k);
  prefetch_map(&maps.v);
  const int group = p.heads / p.kv_heads;
  Place<Shape::kStages> place;
  Tile tile;
  Place<Shape::kQueries> query;
  for (int index = 0; tile_at<Shape>(index, p, schedule, tile); ++index, query.next()) {
    barrier_wait(layout.query_empty(query.stage), query.parity ^ 1);
    barrier_expect(layout.query_full(query.stage), Shape::kQueryBytes);
    load_tile(maps.q, layout.query(query.stage), layout.query_full(query.stage), Shape::kRows, tile.row,
              tile.head, tile.batch);
    const int head = tile.head / group;
    for (int n = tile.key_tiles - 1; n >= 0; --n, place.next()) {
      barrier_wait(layout.key_empty(place.stage), place.parity ^ 1);
      barrier_expect(layout.key_full(place.stage), Shape::kTileBytes);
      load_tile(maps.k, layout.key(place.stage), layout.key_full(place.stage), Shape::kKeys, n * Shape::kKeys,
                head, tile.batch);
      barrier_wait(layout.value_empty(place.stage), place.parity ^ 1);
      barrier_expect(layout.value_full(place.stage), Shape::kTileBytes);
      load_tile(maps.v, layout.value(place.stage), layout.value_full(place.stage), Shape::kKeys,
                n * Shape::kKeys, head, tile.batch);
    }
  }
}

// One consumer warpgroup: 64 rows.
template <class Shape>
struct Consumer {
  using T = typename Shape::T;
  static constexpr int kScores = Shape::kKeys / 2;  // a thread's
  static constexpr int kOutputs = Shape::kDim / 2;

  const AttentionParams& p;
  const Layout<Shape>& layout;
  const int group;         // of this block's consumers
  const int first_row;     // of the two rows of this thread, in the warpgroup's 64; the other is 8 below
  const int first_column;  // in each 8
  const float scale_log2;

  float scores[kScores];
  uint32_t weights[kScores / 2];
  float out[kOutputs];
  float most[2], sum[2];

  __device__ Consumer(const AttentionParams& params, const Layout<Shape>& where, int which)
      : p(params),
        layout(where),
        group(which),
        first_row(static_cast<int>(threadIdx.x % 128) / 32 * 16 + static_cast<int>(threadIdx.x % 32) / 4),
        first_column(static_cast<int>(threadIdx.x % 4) * 2),
        scale_log2(params.scale * 1.4426950408889634f) {}

  // scores = q k', issued.
  __device__ __forceinline__ void issue_scores(int query_stage, int stage) {
    const uint32_t query = layout.query(query_stage) + group * 64 * 128;
    const uint32_t key = layout.key(stage);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < Shape::kDim / 16; ++step) {
      const uint32_t within = step % 4 * 32;
      wgmma_ss<T, Shape::kKeys>(scores, descriptor(query + step / 4 * Shape::kRows * 128 + within, 16),
                                descriptor(key + step / 4 * Shape::kKeys * 128 + within, 16), step > 0);
    }
    wgmma_commit();
  }

  // out += weights v, issued.
  __device__ __forceinline__ void issue_output(int stage, bool accumulate) {
    const uint32_t value = layout.value(stage);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < Shape::kKeys / 16; ++step) {
      wgmma_rs<T, Shape::kDim>(out, weights + 4 * step, descriptor(value + step * 2048, Shape::kKeys * 128),
                               accumulate || step > 0);
    }
    wgmma_commit();
  }

  // Hides pairs beyond the keys' end or above the diagonal. `row` is the thread's first, `column` the tile's.
  __device__ __forceinline__ void mask(int row, int column) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const int at = column + i / 4 * 8 + first_column + i % 2;
      const int limit = p.causal ? min(p.kv_length, row + i / 2 % 2 * 8 + 1) : p.kv_length;
      if (at >= limit) scores[i] = -INFINITY;
    }
  }

  // The running maximum and sum take in the scores, which become weights; returns what earlier sums and
  // outputs shrink by.
  template <bool kFirst>
  __device__ __forceinline__ void softmax(float (&shrink)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = scores[2 * r];
#pragma unroll
      for (int i = 0; i < kScores; i += 4)
        largest = fmaxf(largest, fmaxf(scores[i + 2 * r], scores[i + 2 * r + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFF, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFF, largest, 2));
      if (!kFirst) largest = fmaxf(largest, most[r]);
      const float origin = largest == -INFINITY ? 0.0f : largest * scale_log2;
      if (!kFirst) shrink[r] = exp2_fast(most[r] * scale_log2 - origin);
      most[r] = largest;
      float total = 0.0f;
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& score = scores[i + 2 * r + c];
          score = exp2_fast(fmaf(score, scale_log2, -origin));
          total += score;
        }
      }
      sum[r] = kFirst ? total : fmaf(sum[r], shrink[r], total);
    }
  }

  __device__ __forceinline__ void make_weights() {
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) weights[i] = pack(scores[2 * i], scores[2 * i + 1], T{});
  }

  __device__ __forceinline__ void my_turn() { named_sync(1 + group, 256); }
  __device__ __forceinline__ void next_turn() { named_arrive(1 + (group + 1) % Shape::kConsumers, 256); }

  __device__ __forceinline__ bool needs_mask(const Tile& tile, int n) const {
    const int end = (n + 1) * Shape::kKeys;
    return end > p.kv_length || (p.causal && end > tile.row + group * 64 + 1);
  }

  __device__ __forceinline__ void run(const Tile& tile, const Place<Shape::kQueries>& query,
                                      Place<Shape::kStages>& place) {
    const int row = tile.row + group * 64 + first_row;
    float shrink[2] = {0.0f, 0.0f};
    barrier_wait(layout.query_full(query.stage), query.parity);
    int n = tile.key_tiles - 1;
    // Tiles of keys that all lie above this warpgroup's part of the diagonal.
    for (; p.causal && n * Shape::kKeys > tile.row + group * 64 + 63; --n, place.next()) {
      barrier_wait(layout.key_full(place.stage), place.parity);
      my_turn();
      next_turn();
      if (threadIdx.x % 128 == 0) barrier_arrive(layout.key_empty(place.stage));
      barrier_wait(layout.value_full(place.stage), place.parity);
      if (threadIdx.x % 128 == 0) barrier_arrive(layout.value_empty(place.stage));
    }
    barrier_wait(layout.key_full(place.stage), place.parity);
    my_turn();
    issue_scores(query.stage, place.stage);
    pin(scores);
    next_turn();
    wgmma_wait<0>();
    pin(scores);
    if (threadIdx.x % 128 == 0) barrier_arrive(layout.key_empty(place.stage));
    if (needs_mask(tile, n)) mask(row, n * Shape::kKeys);
    softmax<true>(shrink);
    make_weights();
    bool accumulate = false;
    for (--n; n >= 0; --n) {
      const Place<Shape::kStages> last = place;
      place.next();
      barrier_wait(layout.key_full(place.stage), place.parity);
      my_turn();
      issue_scores(query.stage, place.stage);
      pin(scores);
      barrier_wait(layout.value_full(last.stage), last.parity);
      issue_output(last.stage, accumulate);
      pin(out);
      pin(weights);
      next_turn();
      accumulate = true;
      wgmma_wait<1>();
      pin(scores);
      if (threadIdx.x % 128 == 0) barrier_arrive(layout.key_empty(place.stage));
      if (needs_mask(tile, n)) mask(row, n * Shape::kKeys);
      softmax<false>(shrink);
      wgmma_wait<0>();
      pin(out);
      pin(weights);
      if (threadIdx.x % 128 == 0) barrier_arrive(layout.value_empty(last.stage));
      // Most of the time no maximum of these 16 rows has moved.
      if (__any_sync(0xFFFFFFFF, shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) out[i] *= shrink[i / 2 % 2];
      }
      make_weights();
    }
    if (threadIdx.x % 128 == 0) barrier_arrive(layout.query_empty(query.stage));
    barrier_wait(layout.value_full(place.stage), place.parity);
    issue_output(place.stage, accumulate);
    pin(out);
    pin(weights);
    wgmma_wait<0>();
    pin(out);
    if (threadIdx.x % 128 == 0) barrier_arrive(layout.value_empty(place.stage));
    place.next();
    store(tile, row);
  }

  // Four lanes share a row; each takes 8 columns in a row of one of four groups of columns, 16 bytes.
  __device__ __forceinline__ void store(const Tile& tile, int row) {
    const int lane = static_cast<int>(threadIdx.x % 4);
    T* const head = static_cast<T*>(p.out) + tile.batch * p.o_batch + tile.head * p.o_head;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float total = sum[r];
      total += __shfl_xor_sync(0xFFFFFFFF, total, 1);
      total += __shfl_xor_sync(0xFFFFFFFF, total, 2);
      const float share = total > 0.0f ? 1.0f / total : 0.0f;
      const int at = row + 8 * r;
      const bool there = at < p.length;
      if (there && lane == 0 && p.lse != nullptr) {
        p.lse[(static_cast<int64_t>(tile.batch) * p.heads + tile.head) * p.length + at] =
            total > 0.0f ? most[r] * p.scale + logf(total) : -INFINITY;
      }
#pragma unroll
      for (int block = 0; block < kOutputs / 16; ++block) {
        uint32_t words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int i = (block * 4 + j) * 4 + 2 * r;
          words[j] = pack(out[i] * share, out[i + 1] * share, T{});
        }
        transpose(words, lane);
        const int column = block * 32 + lane * 8;
        if (there && column < p.value_dim)
          *reinterpret_cast<uint4*>(head + at * p.o_row + column) =
              make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }

  // words[j] of lane i becomes words[i] of lane j, within each four lanes.
  static __device__ __forceinline__ void transpose(uint32_t (&words)[4], int lane) {
#pragma unroll
    for (int bit = 1; bit <= 2; bit *= 2) {
      const bool high = (lane & bit) != 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if ((j & bit) != 0) continue;
        const uint32_t given = high ? words[j] : words[j | bit];
        const uint32_t taken = __shfl_xor_sync(0xFFFFFFFF, given, bit);
        if (high)
          words[j] = taken;
        else
          words[j | bit] = taken;
      }
    }
  }
};

template <class Shape>
__device__ __forceinline__ void consume(const AttentionParams& p, const Schedule& schedule,
                                        const Layout<Shape>& layout, int which) {
  Consumer<Shape> consumer(p, layout, which);
  if (which == Shape::kConsumers - 1) consumer.next_turn();  // the first may begin
  Place<Shape::kStages> place;
  Tile tile;
  Place<Shape::kQueries> query;
  for (int index = 0; tile_at<Shape>(index, p, schedule, tile); ++index, query.next())
    consumer.run(tile, query, place);
  if (which == 0) consumer.my_turn();  // the last turn given on, so that no arrival is left over
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    flash_forward_kernel(const __grid_constant__ AttentionParams p, const __grid_constant__ Maps maps,
                         const __grid_constant__ Schedule schedule) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint8_t shared[];
  const Layout<Shape> layout{(shared_address(shared) + 1023) / 1024 * 1024};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Shape::kQueries; ++stage) {
      barrier_init(layout.query_full(stage), 1);
      barrier_init(layout.query_empty(stage), Shape::kConsumers);
    }
    for (int stage = 0; stage < Shape::kStages; ++stage) {
      barrier_init(layout.key_full(stage), 1);
      barrier_init(layout.key_empty(stage), Shape::kConsumers);
      barrier_init(layout.value_full(stage), 1);
      barrier_init(layout.value_empty(stage), Shape::kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x / 128), 0);
  if (warpgroup == 0) {
    registers_down<Shape::kProducerRegisters>();
    produce<Shape>(p, maps, schedule, layout);
  } else {
    registers_up<Shape::kConsumerRegisters>();
    consume<Shape>(p, schedule, layout, warpgroup - 1);
  }
#else
  (void)p, (void)maps, (void)schedule;
#endif
}

}  // namespace hunch::attention::sm90
