// The Hopper kernel's schedule, on the host: over all blocks every row sees every key tile once, in tiles
// that are whole or whose parts name the same blocks.
#include "hunch/attention/flash/schedule_sm90.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace hunch::attention::sm90 {
namespace {

constexpr int kMultiprocessors = 132;
constexpr int64_t kCache = int64_t{50} << 20;

struct Sizes {
  TileSize tile;
  int warpgroups;
};
constexpr Sizes kSizes[] = {{{192, 128}, 3}, {{128, 176}, 2}, {{128, 80}, 2}};

sm80::AttentionParams call(int batch, int heads, int length, int kv_length, bool causal, int window = 0) {
  sm80::AttentionParams p = {};
  p.batch = batch;
  p.heads = p.kv_heads = heads;
  p.length = length;
  p.kv_length = kv_length;
  p.causal = causal ? 1 : 0;
  p.window = window;
  p.scale = 0.125f;
  return p;
}

// The tiles of one block, as its producer takes them; `drawn` stands for the counter.
std::vector<int> tiles_of(const Schedule& schedule, int block, int blocks, int& drawn) {
  std::vector<int> tiles;
  int next = block;
  if (schedule.shared > 0) {
    const Run run = run_of(schedule, block, blocks);
    for (int at = run.begin / schedule.key_tiles; at <= (run.end - 1) / schedule.key_tiles; ++at)
      tiles.push_back(at);
    next = schedule.shared + block;
  }
  while (next < schedule.tiles) {
    tiles.push_back(next);
    next = schedule.dealt != 0 ? blocks + drawn++ : next + blocks;
  }
  return tiles;
}

void expect_all_once(const sm80::AttentionParams& p, const Sizes& sizes) {
  const Schedule schedule = make_schedule(p, sizes.tile, sizes.warpgroups, kMultiprocessors, kCache);
  const int blocks = blocks_of(schedule, kMultiprocessors);
  ASSERT_GE(blocks, 1);
  ASSERT_LE(schedule.shared * sizes.warpgroups * 4, sm80::kCounters);
  std::map<std::tuple<int, int, int>, std::vector<int>> seen;  // batch, head, row: how often each key tile
  std::map<int, std::vector<int>> sharers;
  int drawn = 0;
  for (int block = 0; block < blocks; ++block) {
    int parts = 0;
    for (const int at : tiles_of(schedule, block, blocks, drawn)) {
      const Tile tile = tile_of(p, schedule, sizes.tile, at, block, blocks);
      ASSERT_LT(tile.key_begin, tile.key_end) << "tile " << at << " of block " << block;
      ASSERT_GT(tile.row + sizes.tile.rows, 0);
      ASSERT_LT(tile.row, p.length);
      auto& counts = seen[{tile.batch, tile.head, tile.row}];
      counts.resize(static_cast<std::size_t>((p.kv_length + sizes.tile.keys - 1) / sizes.tile.keys));
      for (int n = tile.key_begin; n < tile.key_end; ++n) ++counts.at(static_cast<std::size_t>(n));
      if (at >= schedule.shared) {
        EXPECT_EQ(tile.first_block, block);
        EXPECT_EQ(tile.last_block, block);
        continue;
      }
      EXPECT_LE(++parts, 2);
      sharers[at].push_back(block);
    }
  }
  if (schedule.dealt != 0) {
    EXPECT_EQ(drawn, schedule.tiles) << "the counter must wrap to zero with the last draw";
  }
  for (const auto& [at, members] : sharers) {
    for (const int block : members) {
      const Tile tile = tile_of(p, schedule, sizes.tile, at, block, blocks);
      EXPECT_EQ(tile.first_block, members.front());
      EXPECT_EQ(tile.last_block, members.back());
      EXPECT_EQ(static_cast<std::size_t>(tile.last_block - tile.first_block + 1), members.size());
    }
  }
  const int row_tiles = (p.length + sizes.tile.rows - 1) / sizes.tile.rows;
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(p.batch * p.heads * row_tiles));
  for (const auto& [where, counts] : seen) {
    const int first_row = std::max(std::get<2>(where), 0);
    const int last_row = std::min(std::get<2>(where) + sizes.tile.rows, p.length) - 1;
    for (std::size_t n = 0; n < counts.size(); ++n) {
      const int begin = static_cast<int>(n) * sizes.tile.keys;
      const bool sees = (p.causal == 0 || begin <= last_row) &&
                        (p.window == 0 || begin + sizes.tile.keys > first_row + 1 - p.window);
      if (sees || p.window == 0) {
        EXPECT_EQ(counts[n], sees ? 1 : 0) << "row " << std::get<2>(where) << ", key tile " << n;
      } else {
        EXPECT_LE(counts[n], 1) << "row " << std::get<2>(where) << ", key tile " << n;
      }
    }
  }
}

TEST(ScheduleSm90, EveryRowSeesEveryKeyTileOnce) {
  std::mt19937 random(1);
  const auto from = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int i = 0; i < 300; ++i) {
    const bool causal = from(0, 2) == 0;
    const int window = causal && from(0, 1) == 0 ? from(1, 1500) : 0;
    auto p = call(from(1, 4), from(1, 20), from(1, 3000), from(1, 3000), causal, window);
    p.head_dim = p.value_dim = from(0, 1) == 0 ? 64 : 20000;  // so much that few heads go together
    SCOPED_TRACE(testing::Message() << p.batch << " x " << p.heads << " x " << p.length << " x "
                                    << p.kv_length << (causal ? " causal" : "") << ", window " << window);
    expect_all_once(p, kSizes[i % 3]);
    if (HasFailure()) return;
  }
}

TEST(ScheduleSm90, SharesWhatIsLeftForALastRound) {
  // 16 heads of 128 tiles on 132 blocks: 15 rounds, and 68 tiles left over.
  const auto schedule =
      make_schedule(call(1, 16, 16384, 16384, false), {128, 176}, 2, kMultiprocessors, kCache);
  EXPECT_EQ(schedule.tiles, 2048);
  EXPECT_EQ(schedule.shared, 68);
  EXPECT_EQ(schedule.dealt, 0);
}

TEST(ScheduleSm90, DoesNotShareWhereThatSavesNothing) {
  EXPECT_EQ(make_schedule(call(1, 132, 128, 4096, false), {128, 128}, 2, kMultiprocessors, kCache).shared,
            0);  // none left
  EXPECT_EQ(make_schedule(call(8, 16, 1024, 300, false), {128, 128}, 2, kMultiprocessors, kCache).shared,
            0);  // few keys
  EXPECT_EQ(make_schedule(call(1, 16, 16384, 16384, true), {128, 176}, 2, kMultiprocessors, kCache).shared,
            0);
}

TEST(ScheduleSm90, AWindowLeavesKeyTilesOut) {
  const auto p = call(1, 1, 16384, 16384, true, 4096);
  const Schedule schedule = make_schedule(p, {128, 128}, 2, kMultiprocessors, kCache);
  const Tile last = tile_of(p, schedule, {128, 128}, 0, 0, kMultiprocessors);
  EXPECT_EQ(last.row, 16384 - 128);
  EXPECT_EQ(last.key_begin, (16384 - 128 + 1 - 4096) / 128);
  EXPECT_EQ(last.key_end, 128);
  // Windows that begin behind the last key leave one key tile, all of it hidden.
  const auto short_keys = call(1, 1, 1024, 100, true, 16);
  const Schedule of_short = make_schedule(short_keys, {128, 128}, 2, kMultiprocessors, kCache);
  const Tile lonely = tile_of(short_keys, of_short, {128, 128}, 0, 0, 8);
  EXPECT_EQ(lonely.key_begin, 0);
  EXPECT_EQ(lonely.key_end, 1);
}

TEST(ScheduleSm90, HeadsGoTogetherThatMeetInTheCache) {
  auto p = call(4, 16, 4096, 4096, true);
  p.head_dim = p.value_dim = 128;  // 2 MiB a head
  EXPECT_EQ(heads_together(p, kMultiprocessors, kCache), 16) << "18 fit: 64 heads in 4 groups";
  EXPECT_EQ(heads_together(p, kMultiprocessors, int64_t{1} << 30), 64);
  EXPECT_EQ(heads_together(p, kMultiprocessors, 1), 16) << "eight blocks a head";
  EXPECT_EQ(heads_together(p, 4, 1), 1);
  p.kv_heads = 4;  // four share their keys
  EXPECT_EQ(heads_together(p, kMultiprocessors, kCache), 64);
}

TEST(ScheduleSm90, DrawsTilesThatDiffer) {
  EXPECT_EQ(make_schedule(call(1, 16, 16384, 16384, true), {128, 176}, 2, kMultiprocessors, kCache).dealt, 1);
  EXPECT_EQ(make_schedule(call(8, 16, 1024, 1024, false), {192, 128}, 3, kMultiprocessors, kCache).dealt,
            1);  // 1024 is not 192 k
  EXPECT_EQ(make_schedule(call(1, 4, 1024, 1024, true), {128, 128}, 2, kMultiprocessors, kCache).dealt,
            0);  // a block each
}

}  // namespace
}  // namespace hunch::attention::sm90
