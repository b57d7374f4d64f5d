#include "hunch/attention/flash/parts.h"

#include <algorithm>

namespace hunch::attention::flash {
namespace {

bool can_be_cluster(int parts, const Room& room) {
  return room.clusters && parts > 1 && parts <= kMostClustered;
}

}  // namespace

// Two blocks can always be a cluster. Larger clusters leave holes, and do not all run at once unless they
// take no more than three quarters of the device; so with many keys a part, where coming together is little
// of the time, a full device is worth more.
Parts parts_of_packed_rows(int64_t tiles, int64_t kv_length, const Room& room) {
  constexpr int64_t kLeastKeys = 256;           // a part is worth at least four tiles of 64
  constexpr int64_t kMostInCluster = 8;         // larger ones were not measured
  constexpr int64_t kMostClusteredKeys = 2048;  // a part, in clusters of more than two
  const int64_t slots = int64_t{2} * room.multiprocessors;
  if (tiles == 0 || tiles * 4 > slots * 3) return {};
  const int64_t most = std::clamp<int64_t>(kv_length / kLeastKeys, 1, kMostParts);
  const auto filling = static_cast<int>(std::clamp<int64_t>(slots / tiles, 1, most));
  if (filling == 2) return {2, can_be_cluster(2, room)};
  const auto clustered = static_cast<int>(std::min<int64_t>({slots * 3 / 4 / tiles, most, kMostInCluster}));
  if (can_be_cluster(clustered, room) && clustered * tiles * 5 >= slots * 3 &&
      kv_length / clustered <= kMostClusteredKeys)
    return {clustered, true};
  return {filling, false};
}

// The least of a model: a block reads as fast as it can alone, or as its share of the memory's rate lets it,
// which few blocks do not quite use up; then the parts come together, which takes longer for larger rows. Of
// 342 shapes (1 to 400 tiles, 256 to 32768 keys, 4 and 16 rows, head_dim 64 to 256) what it chose took 0.4 %
// longer than the best that was measured, at most 8 %.
Parts parts_of_few_rows(int64_t tiles, int64_t kv_length, const FewRows& tile, const Room& room) {
  constexpr int64_t kLeastKeys = 64;
  constexpr double kShare = 32.4e3;  // bytes a microsecond and multiprocessor, of all that read at once
  constexpr double kUnused = 0.045;  // of it, by one block of a whole device
  const double alone = tile.key_bytes > 512 ? 66e3 : 82e3;  // of one block
  const int64_t multiprocessors = room.multiprocessors;
  if (tiles == 0 || tiles * 2 > multiprocessors) return {};
  const auto most = static_cast<int>(
      std::clamp<int64_t>(std::min(kv_length / kLeastKeys, multiprocessors / tiles), 1, kMostParts));
  const double bytes = static_cast<double>(kv_length) * tile.key_bytes * static_cast<double>(tiles);
  const double row_bytes = tile.rows * (tile.key_bytes / 512.0);  // one is a row of 128 columns
  const auto microseconds = [&](const Parts& parts) {
    const auto blocks = static_cast<double>(parts.count * tiles), all = static_cast<double>(multiprocessors);
    const double reading =
        std::max(bytes / (blocks * alone), bytes / (all * kShare)) * (1 + kUnused * (1 - blocks / all));
    if (parts.count == 1) return reading;
    return reading + (parts.clustered ? 1.53 + 0.086 * row_bytes : 3.5 + 0.033 * parts.count * row_bytes);
  };
  // Which clusters run all at once, evenly spread over groups of multiprocessors: by what was seen on two
  // devices, not by a rule of CUDA's.
  const auto is_good_cluster = [&](int count) {
    if (!can_be_cluster(count, room)) return false;
    if (count == 2) return true;
    return count == 16 ? count * tiles * 2 <= multiprocessors
                       : (count == 4 || count == 8) && count * tiles * 4 <= multiprocessors * 3;
  };
  Parts best;
  double least = microseconds(best);
  for (int count = 2; count <= most; ++count)
    for (const bool clustered : {true, false}) {
      if (clustered && !is_good_cluster(count)) continue;
      const Parts parts{count, clustered};
      if (const double time = microseconds(parts); time < least) {
        least = time;
        best = parts;
      }
    }
  return best;
}

}  // namespace hunch::attention::flash
