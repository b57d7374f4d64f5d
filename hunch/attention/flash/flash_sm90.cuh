// FlashAttention for Hopper: tiles by the copy engine, products by wgmma, a persistent grid.
//
// In:  an AttentionParams without a mask, positive scale, rows on 16 bytes, and the tensor maps of q, k and
// v. Out: out, and the log-sum-exp where asked for. Bit-equal from run to run: which block works on a tile
// varies, what is computed for it and in which order does not.
//
// A block has one producer warpgroup, whose first thread loads, and two or three consumer warpgroups with 64
// rows of the query each. K and V go through a ring of stages guarded by pairs of barriers (full, empty).
// Each consumer issues the next tile's scores before this tile's product with V, and works on the softmax
// while both run; the consumers take turns at issuing, so that one's softmax hides under another's products.
//
// Which block works on which tile is in schedule_sm90.h. Parts of a shared tile wait in memory, and the last
// block to come puts them together.
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
// From here on as ratios to cuDNN in the same run, with 8,16,1024,64 causal and 4,16,4096,128 full besides,
// where the last one was behind: 1.22, 1.16, 1.20; 1.10, 0.98, 1.03; 0.98, 0.95.
//
// - A maximum is followed only when it moved by more than a factor of 256; the first keys are loaded before
//   the queries; the last round of full problems shared along the keys: 1.24, 1.15, 1.34; 1.18, 1.02, 1.19;
//   0.98, 0.99 (of the full ones' gain, sharing has 2 to 5 %).
// - Tiles drawn from a counter, where the snake had fixed them: causal ones gain 1 to 2 %.
// - Masked key tiles in a loop of their own, so that the other is 646 instructions instead of 887 (128 x
// 176);
//   causal tiles end with the last row, so that a part of a tile falls where there is next to no work, and
//   warpgroups without rows do nothing: 1.31, 1.22, 1.34; 1.15, 1.08, 1.16; 1.13, 1.02.
// - Tiles with fewer rows last and drawn; 128 keys a tile to 4,096 keys: 1.30, 1.22, 1.30; 1.21, 1.09, 1.18;
//   1.15, 1.04.
// - Causal tiles of 16 heads together where there are many: 4,16,4096,128 causal 1.03 to 1.11, others as
// before.
//   (Of 3 to 8 heads where all are 16: 0.86 to 0.99 of the time before, as tiles of all lengths then run side
//   by side and no longer meet in the cache.)
//
// Slower: part of the exponentials as a polynomial on the FMA pipe (2 of 8: 0.86 of the time without, as that
// pipe is as busy as the special units); clusters of two blocks that share K and V by multicast (0.82 to
// 0.92); consumers without turns (0.77 to 0.92); at head_dim 64, 112, 96 or 80 keys a tile (0.96, 0.91), or
// 128 rows (0.78 to 0.98); a tile's last product issued together with the next tile's first scores (0.89 at
// 8,16,1024,64 causal, within 2 % elsewhere); tiles drawn two ahead (as the snake, or worse).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hunch/attention/flash/ptx_sm90.cuh"
#include "hunch/attention/flash/schedule_sm90.h"
#include "hunch/attention/flash/wgmma_sm90.cuh"
#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::sm90 {

using sm80::AttentionParams;

struct Maps {
  CUtensorMap q, k, v;
};

template <class Type, int kDimension, int kTileRows, int kTileKeys, int kRing, int kQueryRing>
struct Shape90 {
  using T = Type;
  static constexpr int kDim = kDimension;  // head_dim rounded up: 64, 128 or 256
  static constexpr int kConsumers = kTileRows / 64;
  static constexpr int kRows = kTileRows;
  static constexpr int kKeys = kTileKeys;
  static constexpr TileSize kSize = {kTileRows, kTileKeys};
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
  static constexpr int kPartFloats =
      (kDim / 2 + 4) * 128;  // of a warpgroup: a part's outputs, maxima and sums
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
  __device__ uint32_t ticket(int stage) const { return barrier(4 + 4 * Shape::kStages + stage); }
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

template <class Shape>
__device__ __forceinline__ Tile my_tile(const AttentionParams& p, const Schedule& schedule, int at) {
  return tile_of(p, schedule, Shape::kSize, at, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
}

// The order in which a block's producer takes tiles: its parts of shared ones, then whole ones.
struct Order {
  const Schedule& schedule;
  unsigned* const counter;
  int last_part = -1;  // of the shared tiles

  __device__ Order(const AttentionParams& p, const Schedule& plan) : schedule(plan), counter(p.counters) {}

  __device__ int first() {
    const int block = static_cast<int>(blockIdx.x);
    if (schedule.shared == 0) return block;
    const Run run = run_of(schedule, block, static_cast<int>(gridDim.x));
    last_part = (run.end - 1) / schedule.key_tiles;
    return run.begin / schedule.key_tiles;
  }
  // The one after `at`, or -1.
  __device__ int after(int at) {
    const int block = static_cast<int>(blockIdx.x);
    const int blocks = static_cast<int>(gridDim.x);
    int next;
    if (at < last_part) return at + 1;
    if (at < schedule.shared) {
      next = schedule.shared + block;
    } else if (schedule.dealt != 0) {
      // As many draws as tiles in all, so that the last one wraps the counter around to zero.
      next = blocks + static_cast<int>(atomicInc(counter, static_cast<unsigned>(schedule.tiles) - 1));
    } else {
      next = at + blocks;
    }
    return next < schedule.tiles ? next : -1;
  }
};

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
  Place<Shape::kQueries> query;
  Order order(p, schedule);
  for (int at = order.first(); at >= 0; query.next()) {
    const Tile tile = my_tile<Shape>(p, schedule, at);
    int following = -1;
    const int head = tile.head / group;
    for (int n = tile.key_end - 1; n >= tile.key_begin; --n, place.next()) {
      if (n == tile.key_begin) following = order.after(at);  // as late as leaves it time to come
      barrier_wait(layout.key_empty(place.stage), place.parity ^ 1);
      barrier_expect(layout.key_full(place.stage), Shape::kTileBytes);
      load_tile(maps.k, layout.key(place.stage), layout.key_full(place.stage), Shape::kKeys, n * Shape::kKeys,
                head, tile.batch);
      if (n == tile.key_end - 1) {  // after the first keys, whose place is free before that of the queries
        barrier_wait(layout.query_empty(query.stage), query.parity ^ 1);
        store_shared(layout.ticket(query.stage), at);
        barrier_expect(layout.query_full(query.stage), Shape::kQueryBytes);
        load_tile(maps.q, layout.query(query.stage), layout.query_full(query.stage), Shape::kRows, tile.row,
                  tile.head, tile.batch);
      }
      barrier_wait(layout.value_empty(place.stage), place.parity ^ 1);
      barrier_expect(layout.value_full(place.stage), Shape::kTileBytes);
      load_tile(maps.v, layout.value(place.stage), layout.value_full(place.stage), Shape::kKeys,
                n * Shape::kKeys, head, tile.batch);
    }
    at = following;
  }
  barrier_wait(layout.query_empty(query.stage), query.parity ^ 1);
  store_shared(layout.ticket(query.stage), -1);
  barrier_arrive(layout.query_full(query.stage));
}

// One consumer warpgroup: 64 rows.
template <class Shape>
struct Consumer {
  using T = typename Shape::T;
  static constexpr int kScores = Shape::kKeys / 2;  // a thread's
  static constexpr int kOutputs = Shape::kDim / 2;

  const AttentionParams& p;
  const Schedule& schedule;
  const Layout<Shape>& layout;
  const int group;         // of this block's consumers
  const int first_row;     // of the two rows of this thread, in the warpgroup's 64; the other is 8 below
  const int first_column;  // in each 8

  float scores[kScores];
  uint32_t weights[kScores / 2];
  float out[kOutputs];
  float most[2], sum[2];

  __device__ Consumer(const AttentionParams& params, const Schedule& plan, const Layout<Shape>& where,
                      int which)
      : p(params),
        schedule(plan),
        layout(where),
        group(which),
        first_row(static_cast<int>(threadIdx.x % 128) / 32 * 16 + static_cast<int>(threadIdx.x % 32) / 4),
        first_column(static_cast<int>(threadIdx.x % 4) * 2) {}

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

  // Hides pairs beyond the keys' end, above the diagonal, or before the window. `row` is the thread's first,
  // `column` the tile's.
  __device__ __forceinline__ void mask(int row, int column) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const int at = column + i / 4 * 8 + first_column + i % 2;
      const int own = row + i / 2 % 2 * 8 + 1;
      const int limit = p.causal ? min(p.kv_length, own) : p.kv_length;
      const int begin = p.window > 0 ? own - p.window : 0;
      if (at >= limit || at < begin) scores[i] = -INFINITY;
    }
  }

  // The running maximum and sum take in the scores, which become weights; returns what earlier sums and
  // outputs shrink by. A maximum is followed only when it has moved by more than `slack`.
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
      if (!kFirst) largest = largest > most[r] + schedule.slack ? largest : most[r];
      const float origin = largest == -INFINITY ? 0.0f : largest * schedule.scale_log2;
      if (!kFirst) shrink[r] = largest == most[r] ? 1.0f : exp2_fast(most[r] * schedule.scale_log2 - origin);
      most[r] = largest;
      float total = 0.0f;
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& score = scores[i + 2 * r + c];
          score = exp2_fast(fmaf(score, schedule.scale_log2, -origin));
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
  // True where the window of one of this warpgroup's rows begins behind the tile's first key.
  __device__ __forceinline__ bool is_cut(const Tile& tile, int n) const {
    return p.window > 0 && n * Shape::kKeys < tile.row + group * 64 + 64 - p.window;
  }
  // True where no pair of a key tile counts for this warpgroup: above its part of the diagonal, before all
  // its windows, or no such rows.
  __device__ __forceinline__ bool beyond(const Tile& tile, int n) const {
    const int first = tile.row + group * 64;
    return first >= p.length || (p.causal && n * Shape::kKeys > first + 63);
  }
  __device__ __forceinline__ bool before(const Tile& tile, int n) const {
    return p.window > 0 && (n + 1) * Shape::kKeys <= tile.row + group * 64 + 1 - p.window;
  }
  // Lets key tile n go by: its turn, its places.
  __device__ __forceinline__ void pass(Place<Shape::kStages>& place) {
    barrier_wait(layout.key_full(place.stage), place.parity);
    my_turn();
    next_turn();
    release(layout.key_empty(place.stage));
    barrier_wait(layout.value_full(place.stage), place.parity);
    release(layout.value_empty(place.stage));
    place.next();
  }
  // One thread says for all that a place may be filled again.
  __device__ __forceinline__ void release(uint32_t barrier) const {
    if (threadIdx.x % 128 == 0) barrier_arrive(barrier);
  }
  // The tile whose queries have come, or will.
  __device__ __forceinline__ int ticket(const Place<Shape::kQueries>& query) const {
    barrier_wait(layout.query_full(query.stage), query.parity);
    return load_shared(layout.ticket(query.stage));
  }

  // One more tile of keys: its scores are issued before the product of the last one's weights with V, and
  // the softmax works while that runs.
  template <bool kMasked>
  __device__ __forceinline__ void step(int query_stage, Place<Shape::kStages>& place, bool accumulate,
                                       int row, int column) {
    const Place<Shape::kStages> last = place;
    place.next();
    barrier_wait(layout.key_full(place.stage), place.parity);
    my_turn();
    issue_scores(query_stage, place.stage);
    pin(scores);
    barrier_wait(layout.value_full(last.stage), last.parity);
    issue_output(last.stage, accumulate);
    pin(out);
    pin(weights);
    next_turn();
    wgmma_wait<1>();
    pin(scores);
    release(layout.key_empty(place.stage));
    if (kMasked) mask(row, column);
    float shrink[2];
    softmax<false>(shrink);
    wgmma_wait<0>();
    pin(out);
    pin(weights);
    release(layout.value_empty(last.stage));
    // Most of the time no maximum of these 16 rows has moved.
    if (__any_sync(0xFFFFFFFF, shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
      for (int i = 0; i < kOutputs; ++i) out[i] *= shrink[i / 2 % 2];
    }
    make_weights();
  }

  // All tiles of this block.
  __device__ __forceinline__ void run() {
    Place<Shape::kStages> place;
    Place<Shape::kQueries> query;
    for (int at = ticket(query); at >= 0; query.next(), at = ticket(query)) {
      const Tile tile = my_tile<Shape>(p, schedule, at);
      const int row = tile.row + group * 64 + first_row;
      int n = tile.key_end - 1;
      for (; n >= tile.key_begin && beyond(tile, n); --n) pass(place);
      if (n < tile.key_begin) {  // no pair for any of its rows
        release(layout.query_empty(query.stage));
        continue;
      }
      barrier_wait(layout.key_full(place.stage), place.parity);
      my_turn();
      issue_scores(query.stage, place.stage);
      pin(scores);
      next_turn();
      wgmma_wait<0>();
      pin(scores);
      release(layout.key_empty(place.stage));
      if (needs_mask(tile, n) || is_cut(tile, n)) mask(row, n * Shape::kKeys);
      float shrink[2];
      softmax<true>(shrink);
      make_weights();
      bool accumulate = false;
      for (--n; n >= tile.key_begin && needs_mask(tile, n); --n, accumulate = true)
        step<true>(query.stage, place, accumulate, row, n * Shape::kKeys);
      for (; n >= tile.key_begin && !is_cut(tile, n); --n, accumulate = true)
        step<false>(query.stage, place, accumulate, row, 0);
      if (p.window > 0) {
        for (; n >= tile.key_begin && !before(tile, n); --n, accumulate = true)
          step<true>(query.stage, place, accumulate, row, n * Shape::kKeys);
      }
      release(layout.query_empty(query.stage));
      barrier_wait(layout.value_full(place.stage), place.parity);
      issue_output(place.stage, accumulate);
      pin(out);
      pin(weights);
      wgmma_wait<0>();
      pin(out);
      release(layout.value_empty(place.stage));
      place.next();
      for (; n >= tile.key_begin; --n) pass(place);
      if (tile.first_block == tile.last_block || join(tile)) store(tile, row);
    }
  }

  // Where a block leaves its part of a shared tile. A run begins in the tile, or in the one before.
  __device__ float* part_of(int block, const Tile& tile) const {
    const Run run = run_of(schedule, block, static_cast<int>(gridDim.x));
    const int which = run.begin >= tile.index * schedule.key_tiles ? 0 : 1;
    return p.partial_out + (int64_t{block * 2 + which} * Shape::kConsumers + group) * Shape::kPartFloats +
           threadIdx.x % 128;
  }

  // Leaves this warp's part of a shared tile in memory. The last warp to come takes all of them together, in
  // order of blocks, whoever that is: true for it, and the results are then in `out`, `most` and `sum`.
  __device__ __forceinline__ bool join(const Tile& tile) {
    float* const mine = part_of(static_cast<int>(blockIdx.x), tile);
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) __stcg(mine + i * 128, out[i]);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      __stcg(mine + (kOutputs + r) * 128, most[r]);
      __stcg(mine + (kOutputs + 2 + r) * 128, sum[r]);
    }
    __threadfence();
    __syncwarp();
    // Wraps around to zero with the last one: the next launch finds it as this one did.
    const unsigned others = static_cast<unsigned>(tile.last_block - tile.first_block);
    unsigned before = 0;
    if (threadIdx.x % 32 == 0)
      before = atomicInc(p.counters + (tile.index * Shape::kConsumers + group) * 4 + threadIdx.x % 128 / 32,
                         others);
    if (__shfl_sync(0xFFFFFFFF, before, 0) != others) return false;
    __threadfence();
    most[0] = most[1] = -INFINITY;
    sum[0] = sum[1] = 0.0f;
    for (int block = tile.first_block; block <= tile.last_block; ++block) {
      const float* const part = part_of(block, tile);
#pragma unroll
      for (int r = 0; r < 2; ++r) most[r] = fmaxf(most[r], __ldcg(part + (kOutputs + r) * 128));
    }
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) out[i] = 0.0f;
    for (int block = tile.first_block; block <= tile.last_block; ++block) {
      const float* const part = part_of(block, tile);
      float share[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float its = __ldcg(part + (kOutputs + r) * 128);
        share[r] = its == -INFINITY ? 0.0f : exp2_fast((its - most[r]) * schedule.scale_log2);
        sum[r] = fmaf(__ldcg(part + (kOutputs + 2 + r) * 128), share[r], sum[r]);
      }
#pragma unroll
      for (int i = 0; i < kOutputs; ++i) out[i] = fmaf(__ldcg(part + i * 128), share[i / 2 % 2], out[i]);
    }
    return true;
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
      const bool there = at >= 0 && at < p.length;
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
  Consumer<Shape> consumer(p, schedule, layout, which);
  if (which == Shape::kConsumers - 1) consumer.next_turn();  // the first may begin
  consumer.run();
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
