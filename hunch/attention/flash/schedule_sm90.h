// Which block of the Hopper kernel works on which tile: host and device code of one mind.
//
// A tile is some rows of one head with all keys that they see, counted in tiles of keys. There are two ways
// to deal them. Where tiles differ in work, blocks draw them from a counter, heaviest first. Where all are
// alike each block has every blocks-th, and what is left over for a last round (`shared` tiles, the first
// ones) is cut along the keys into runs of the same length, one for each block.
//
// In:  the sizes of an attention call, rows and keys of a tile, blocks. Out: tiles and parts of tiles.
// Holds: over all blocks, every pair of a row and a key tile that it sees is worked on once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hunch/attention/tiles/attention_params.h"

#ifdef __CUDACC__
#define HUNCH_BOTH_SIDES __host__ __device__ __forceinline__
#else
#define HUNCH_BOTH_SIDES inline
#endif

namespace hunch::attention::sm90 {

struct TileSize {
  int rows, keys;
};

// Made on the host, with the scale, so that no thread keeps a register for it.
struct Schedule {
  int tiles;      // in all
  int shared;     // the first so many tiles are shared by all blocks, in parts; 0 where causal
  int key_tiles;  // of a tile that is shared
  int group;      // causal: heads (of all batches) whose tiles go together, before those of the next
  int dealt;      // 1: blocks draw their tiles from a counter as they come; 0: each has every blocks-th
  float scale_log2;
  float slack;  // a score may be so much above the maximum that weights count from
};

struct Tile {
  int row;  // first; may be negative
  int head, batch;
  int key_begin, key_end;  // in tiles of keys; not the whole in a part of a shared tile
  int index;
  int first_block, last_block;  // that share it; the same of one block's own
};

// A block's part of the shared tiles, which count as one long row of key tiles. None is empty, and none is
// longer than a tile, so it touches two at most.
struct Run {
  int begin, end;
};

HUNCH_BOTH_SIDES Run run_of(const Schedule& schedule, int block, int blocks) {
  const auto all = static_cast<unsigned>(schedule.shared * schedule.key_tiles);
  const auto at = static_cast<unsigned>(block);
  return {static_cast<int>(all * at / static_cast<unsigned>(blocks)),
          static_cast<int>(all * (at + 1) / static_cast<unsigned>(blocks))};
}

// The block whose run holds key tile `at`.
HUNCH_BOTH_SIDES int block_of(const Schedule& schedule, int at, int blocks) {
  const auto all = static_cast<unsigned>(schedule.shared * schedule.key_tiles);
  return static_cast<int>((static_cast<unsigned>(at + 1) * static_cast<unsigned>(blocks) - 1) / all);
}

// Tile `at`, or the block's part of it.
HUNCH_BOTH_SIDES Tile tile_of(const sm80::AttentionParams& p, const Schedule& schedule, TileSize size, int at,
                              int block, int blocks) {
  Tile tile;
  const int pairs = p.batch * p.heads;
  int pair = 0;
  int keys = p.kv_length;
  if (p.causal != 0) {  // those of a group's heads by work, the most first
    const int row_tiles = (p.length + size.rows - 1) / size.rows;
    const int first = at / (schedule.group * row_tiles) * schedule.group;
    const int within = at - first * row_tiles;
    const int members = pairs - first < schedule.group ? pairs - first : schedule.group;
    pair = first + within % members;
    // They end with the last row: what is missing of a tile lies before the first row, where it costs least.
    tile.row = p.length - (within / members + 1) * size.rows;
    keys = tile.row + size.rows < keys ? tile.row + size.rows : keys;
  } else {  // the tiles of a head in a row, which share its K and V; those with fewer rows after all others
    const int whole = p.length / size.rows;
    const bool part = at >= pairs * whole;
    pair = part ? at - pairs * whole : at / whole;
    tile.row = (part ? whole : at % whole) * size.rows;
  }
  tile.batch = pair / p.heads;
  tile.head = pair - tile.batch * p.heads;
  tile.index = at;
  tile.key_end = (keys + size.keys - 1) / size.keys;
  tile.key_begin = 0;
  // A tile whose windows begin behind the last key keeps one key tile, of which every pair is hidden.
  const int seen = tile.row + 1 - p.window;  // the first key that any row sees through its window
  if (p.window > 0 && seen > 0)
    tile.key_begin = seen / size.keys < tile.key_end ? seen / size.keys : tile.key_end - 1;
  tile.first_block = tile.last_block = block;
  if (at < schedule.shared) {
    const Run run = run_of(schedule, block, blocks);
    const int start = at * schedule.key_tiles;
    const int begin = run.begin - start;
    const int end = run.end - start;
    tile.key_begin = begin > 0 ? begin : 0;
    tile.key_end = end < schedule.key_tiles ? end : schedule.key_tiles;
    tile.first_block = block_of(schedule, start, blocks);
    tile.last_block = block_of(schedule, start + schedule.key_tiles - 1, blocks);
  }
  return tile;
}

// Heads whose tiles go together: so many that blocks meet in the L2 cache, of `cache_bytes`, over the same
// keys and values, because these fit in it or because eight blocks and more go through each head side by
// side. In groups of the same size to within one.
inline int heads_together(const sm80::AttentionParams& p, int multiprocessors, int64_t cache_bytes) {
  constexpr int kBlocksOfAHead = 8;
  const int64_t pairs = int64_t{p.batch} * p.heads;
  const int64_t bytes = int64_t{2} * p.kv_length * (p.head_dim + p.value_dim) * p.kv_heads / p.heads;
  const int64_t fitting = cache_bytes / 4 * 3 / std::max<int64_t>(bytes, 1);
  const int64_t most = std::max<int64_t>({fitting, multiprocessors / kBlocksOfAHead, 1});
  const int64_t groups = (pairs + most - 1) / most;
  return static_cast<int>((pairs + groups - 1) / groups);
}

// `warpgroups`: of a block, that each leave their part of a shared tile. `multiprocessors`: blocks at most.
// `cache_bytes`: of the device's L2.
inline Schedule make_schedule(const sm80::AttentionParams& p, TileSize size, int warpgroups,
                              int multiprocessors, int64_t cache_bytes) {
  // Key tiles that must be saved for sharing to pay: leaving and fetching parts takes about as long as one.
  constexpr int64_t kLeastSaved = 4;
  constexpr float kSlackLog2 = 8.0f;  // weights to 256: no 16-bit type loses anything by that
  Schedule schedule = {};
  schedule.tiles = p.batch * p.heads * ((p.length + size.rows - 1) / size.rows);
  schedule.key_tiles = (p.kv_length + size.keys - 1) / size.keys;
  schedule.scale_log2 = p.scale * 1.4426950408889634f;
  schedule.slack = std::min(kSlackLog2 / schedule.scale_log2, 1e30f);
  schedule.group = heads_together(p, multiprocessors, cache_bytes);
  const int64_t left = schedule.tiles % multiprocessors;
  const int64_t all = left * schedule.key_tiles;
  const bool fits = all >= multiprocessors && all * (multiprocessors + 1) < (int64_t{1} << 31) &&
                    left * warpgroups * 4 <= sm80::kCounters;
  if (p.causal == 0 && fits &&
      schedule.key_tiles - (all + multiprocessors - 1) / multiprocessors >= kLeastSaved)
    schedule.shared = static_cast<int>(left);
  const bool differ = p.causal != 0 || p.length % size.rows != 0;
  schedule.dealt = differ && schedule.shared == 0 && schedule.tiles > multiprocessors ? 1 : 0;
  return schedule;
}

inline int blocks_of(const Schedule& schedule, int multiprocessors) {
  return schedule.shared > 0 ? multiprocessors : std::min(schedule.tiles, multiprocessors);
}

}  // namespace hunch::attention::sm90

#undef HUNCH_BOTH_SIDES
