// Into how many parts keys are split, for devices that need not be here.
#include "hunch/attention/flash/parts.h"

#include <gtest/gtest.h>

namespace hunch::attention::flash {

// What a failure prints.
void PrintTo(const Parts& parts, std::ostream* out) {
  *out << parts.count << " in clusters of " << parts.cluster;
}

namespace {

constexpr Room kHopper{132, kHopperClusters};
constexpr Room kOlder{132, {}};
constexpr FewRows kFour128{4, 512}, kFour256{4, 1024};

Parts cluster(int count) { return {count, count}; }
Parts through_memory(int count) { return {count, 1}; }

TEST(Parts, PackedRowsFillTwoBlocksAMultiprocessor) {
  EXPECT_EQ(parts_of_packed_rows(128, 4096, kHopper), cluster(2));
  EXPECT_EQ(parts_of_packed_rows(128, 1 << 20, kHopper), cluster(2));
  EXPECT_EQ(parts_of_packed_rows(64, 4096, kHopper), cluster(3));
  EXPECT_EQ(parts_of_packed_rows(64, 16384, kHopper), through_memory(4));
  EXPECT_EQ(parts_of_packed_rows(32, 8192, kHopper), cluster(6));
  EXPECT_EQ(parts_of_packed_rows(8, 8192, kHopper), through_memory(32));
  EXPECT_EQ(parts_of_packed_rows(64, 255, kHopper), through_memory(1));
  EXPECT_EQ(parts_of_packed_rows(64, 600, kHopper), cluster(2));
  EXPECT_EQ(parts_of_packed_rows(199, 4096, kHopper), through_memory(1));
  EXPECT_EQ(parts_of_packed_rows(128, 4096, kOlder), through_memory(2));
  EXPECT_EQ(parts_of_packed_rows(64, 4096, kOlder), through_memory(4));
  // More multiprocessors never mean fewer parts.
  int before = 1;
  for (const int multiprocessors : {8, 16, 64, 108, 132, 148}) {
    const Parts parts = parts_of_packed_rows(16, 4096, {multiprocessors, {}});
    EXPECT_GE(parts.count, before);
    before = parts.count;
  }
}

// What was the best, or within a few hundredths of it, when all were measured.
TEST(Parts, FewRowsTakeTheLeastOfTheModel) {
  EXPECT_EQ(parts_of_few_rows(1, 256, kFour128, kHopper), through_memory(1));
  EXPECT_EQ(parts_of_few_rows(1, 4096, kFour128, kHopper), cluster(16));
  EXPECT_EQ(parts_of_few_rows(8, 8192, kFour128, kHopper), cluster(8));
  EXPECT_EQ(parts_of_few_rows(16, 8192, kFour128, kHopper), cluster(4));
  EXPECT_EQ(parts_of_few_rows(64, 1024, kFour128, kHopper), through_memory(1));
  EXPECT_EQ(parts_of_few_rows(64, 65536, kFour128, kHopper), cluster(2));
  EXPECT_EQ(parts_of_few_rows(67, 65536, kFour128, kHopper), through_memory(1));
  EXPECT_EQ(parts_of_few_rows(16, 65536, kFour256, kHopper), through_memory(8));
  EXPECT_EQ(parts_of_few_rows(64, 16384, kFour128, kHopper), cluster(2));
  EXPECT_EQ(parts_of_few_rows(1, 32768, {8, 512}, kHopper), (Parts{56, 8}));  // clusters that meet in memory
  EXPECT_EQ(parts_of_few_rows(1, 32768, {8, 512}, kOlder).cluster, 1);
  EXPECT_EQ(parts_of_few_rows(0, 4096, kFour128, kHopper), through_memory(1));
}

TEST(Parts, FewRowsKeepTheirBounds) {
  for (const Room room : {kHopper, kOlder, Room{8, {{4, 2, 1, 0}}}, Room{78, {{39, 18, 8, 0}}}, Room{108, {}},
                          Room{0, kHopperClusters}})
    for (int64_t tiles = 0; tiles <= 300; tiles += tiles < 20 ? 1 : 7)
      for (const int64_t keys : {0, 1, 63, 64, 127, 128, 1000, 4096, 65536, 1 << 30})
        for (const FewRows tile : {FewRows{1, 4}, FewRows{16, 256}, kFour128, FewRows{16, 1024}}) {
          const Parts parts = parts_of_few_rows(tiles, keys, tile, room);
          ASSERT_GE(parts.count, 1);
          ASSERT_LE(parts.count, kMostParts);
          if (parts.count == 1) {
            ASSERT_EQ(parts.cluster, 1);
            continue;
          }
          ASSERT_LE(tiles * parts.count, room.multiprocessors);
          ASSERT_GE(keys / parts.count, 64);
          ASSERT_EQ(parts.groups() * parts.cluster, parts.count);
          if (parts.cluster > 1) {
            ASSERT_LE(parts.groups() * tiles, room.clusters.of(parts.cluster));  // all at once
          }
        }
}

// Sixteen rows come together four times as slowly as four, so there are no more parts of them.
TEST(Parts, MoreRowsMeanNoMoreParts) {
  for (const int64_t tiles : {1, 4, 16})
    for (const int64_t keys : {1024, 8192, 65536})
      EXPECT_LE(parts_of_few_rows(tiles, keys, {16, 512}, kOlder).count,
                parts_of_few_rows(tiles, keys, kFour128, kOlder).count);
}

}  // namespace
}  // namespace hunch::attention::flash
