#include "hunch/attention/flash/parts.h"

#include <algorithm>

namespace hunch::attention::flash {
namespace {

// Microseconds that blocks of `bytes` each take to read them, up to what is the same of all. Multiprocessors
// stand in pairs, which share a way to memory: so blocks to half the multiprocessors have a pair each, and
// where some pairs have two and others one, the former lag behind and end alone. A cluster of sixteen fills
// pairs.
double reading_us(int64_t blocks, double bytes, bool clusters_of_sixteen, double alone, double all) {
  constexpr double kPaired = 50.5e3;  // bytes a microsecond of a block beside another, all else idle
  constexpr double kFairness = 0.69;  // of such a block, while memory is what limits, of a single one's rate
  const double pairs = all / 2, rate = 34.25e3 * all;  // of memory
  const auto count = static_cast<double>(blocks);
  if (clusters_of_sixteen || count >= all) return bytes / std::min(kPaired, rate / count);
  if (count <= pairs) return bytes / std::min(alone, rate / count);
  const double twos = count - pairs, ones = pairs - twos;
  const double one = std::min(alone, rate / (ones + 2 * kFairness * twos));
  const double two = std::min(kFairness * one, kPaired);
  return bytes / one + bytes * (1 - two / one) / std::min(kPaired, rate / (2 * twos));
}

}  // namespace

int Clusters::of(int size) const {
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    if (kSizes[i] == size) return at_once[i];
  return 0;
}

int Clusters::largest() const {
  int most = 1;
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    if (at_once[i] > 0) most = kSizes[i];
  return most;
}

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
  const int largest = room.clusters.largest();
  if (filling == 2) return {2, std::min(2, largest)};
  const auto clustered = static_cast<int>(std::min<int64_t>({slots * 3 / 4 / tiles, most, kMostInCluster}));
  if (clustered > 1 && clustered <= largest && clustered * tiles * 5 >= slots * 3 &&
      kv_length / clustered <= kMostClusteredKeys)
    return {clustered, clustered};
  return {filling, 1};
}

// The least of a model of reading and coming together. Of 1,100 timings of 590 shapes on two H200s (1 to 64
// tiles, 512 to 131072 keys, 1 to 16 rows, head_dim 64 to 256) what it chose of what was timed took 0.7 %
// longer than the best, at most 17 %.
Parts parts_of_few_rows(int64_t tiles, int64_t kv_length, const FewRows& tile, const Room& room) {
  constexpr int64_t kLeastKeys = 64;
  const double alone = tile.key_bytes <= 256 ? 77e3 : tile.key_bytes <= 512 ? 80e3 : 67e3;
  const int64_t multiprocessors = room.multiprocessors;
  if (tiles == 0 || tiles * 2 > multiprocessors) return {};
  const auto most = static_cast<int>(
      std::clamp<int64_t>(std::min(kv_length / kLeastKeys, multiprocessors / tiles), 1, kMostParts));
  const double bytes = static_cast<double>(kv_length) * tile.key_bytes;
  const double row_bytes = tile.rows * (tile.key_bytes / 512.0);  // one is a row of 128 columns
  const auto all = static_cast<double>(multiprocessors);
  const auto reading = [&](int count, bool clusters_of_sixteen) {
    constexpr double kUnused = 0.05;  // of the rate, by one block of a whole device
    // Six and more clusters of sixteen read 4 % faster on some H200s and 18 % slower on others, of which the
    // driver says the same.
    constexpr double kCrowd = 0.6, kCrowded = 1.2;
    const int64_t blocks = count * tiles;
    const double filled = static_cast<double>(blocks) / all;
    return reading_us(blocks, bytes / count, clusters_of_sixteen, alone, all) * (1 + kUnused * (1 - filled)) *
           (clusters_of_sixteen && filled > kCrowd ? kCrowded : 1.0);
  };
  const auto together = [&](const Parts& parts, double time) {
    if (parts.cluster > 1) time += 1.7 + 0.01 * row_bytes + (parts.cluster > 8 ? 0.3 : 0.0);
    if (parts.groups() > 1) time += 2.2 + parts.groups() * (0.21 + 0.013 * row_bytes);
    return time;
  };
  const auto all_at_once = [&](const Parts& parts) {
    return parts.cluster == 1 || parts.groups() * tiles <= room.clusters.of(parts.cluster);
  };
  Parts best;
  double least = reading(1, false);
  for (int count = 2; count <= most; ++count) {
    const double spread = reading(count, false);  // what costs the most here, and the same of all but one
    for (const int cluster : {1, 2, 4, 8, 16}) {
      const Parts parts{count, cluster};
      if (count % cluster != 0 || !all_at_once(parts)) continue;
      const double time = together(parts, cluster == 16 ? reading(count, true) : spread);
      if (time < least) {
        least = time;
        best = parts;
      }
    }
  }
  return best;
}

}  // namespace hunch::attention::flash
