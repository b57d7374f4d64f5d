// Into how many parts the keys of a tile are split, a block each, so that few queries fill a device; and how
// the parts come together within the one launch: blocks of a cluster in shared memory, and clusters, or
// blocks that stand alone, through memory, where the last to come adds up.
//
// In:  how many tiles there are, their keys, and what the device has. Out: Parts. Pure functions: `hunch why`
// asks them for devices that are not here. By measurement on H200s.
#pragma once

#include <array>
#include <cstdint>

namespace hunch::attention::flash {

inline constexpr int kMostParts = 64;
inline constexpr int kMostClustered = 16;  // of them that can be a cluster of blocks

struct Parts {
  int count = 1;
  int cluster = 1;  // blocks of one, of which there are count / cluster; 1: blocks stand alone
  int groups() const { return count / cluster; }
  bool operator==(const Parts&) const = default;
};

// How many clusters of a size run at once, of blocks that have a multiprocessor each: as groups of
// multiprocessors have room, of which devices of one product have different ones.
struct Clusters {
  static constexpr std::array<int, 4> kSizes{2, 4, 8, 16};
  std::array<int, 4> at_once{};  // by kSizes

  int of(int size) const;  // 0: none, and of sizes that are not in kSizes
  int largest() const;     // 1: none
  bool operator==(const Clusters&) const = default;
};
// One H200's, for where there is no device to ask.
inline constexpr Clusters kHopperClusters{{66, 30, 15, 7}};

// What a device has for them.
struct Room {
  int multiprocessors = 0;  // 0: not known, and keys are then not split
  Clusters clusters;
};

// For blocks with 64 packed rows, two to a multiprocessor.
Parts parts_of_packed_rows(int64_t tiles, int64_t kv_length, const Room& room);

// One tile of few rows: its rows, and bytes of one key and its value.
struct FewRows {
  int rows;
  int key_bytes;
};
// For blocks with few rows, one to a multiprocessor.
Parts parts_of_few_rows(int64_t tiles, int64_t kv_length, const FewRows& tile, const Room& room);

}  // namespace hunch::attention::flash
