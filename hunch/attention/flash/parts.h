// Into how many parts the keys of a tile are split, a block each, so that few queries fill a device; and how
// the parts come together within the one launch: through memory, where the last block of a tile to come adds
// up, or in shared memory, as a cluster of blocks.
//
// In:  how many tiles there are, their keys, and what the device has. Out: Parts. Pure functions: `hunch why`
// asks them for devices that are not here. By measurement on one H200.
#pragma once

#include <cstdint>

namespace hunch::attention::flash {

inline constexpr int kMostParts = 64;
inline constexpr int kMostClustered = 16;  // of them that can be a cluster of blocks

struct Parts {
  int count = 1;
  bool clustered = false;
  bool operator==(const Parts&) const = default;
};

// What a device has for them.
struct Room {
  int multiprocessors = 0;  // 0: not known, and keys are then not split
  bool clusters = false;
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
