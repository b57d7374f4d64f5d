// See the header. The order of the questions is that of the answers: first the family, then the shape.
#include "hunch/attention/flash/flash_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/strings.h"

namespace hunch::attention::flash {
namespace {

using sm80::AttentionParams;
using sm80::ElementType;

constexpr int kLeastHopperQueries = 64;
constexpr int64_t kMostHopperRows = int64_t{1} << 36;
constexpr int kManyKeys = 4096;           // sm90, head_dim to 128: beyond, longer tiles of keys
constexpr int kShortCausal = 1024;        // sm80, head_dim to 64: to here, small tiles
constexpr int kMostClusteredKeys = 2048;  // a part, in clusters of more than two
constexpr int kLeastPartKeys = 256;       // a part is worth at least four tiles of 64

// Queries of one head that fill at most half a tile, in heads that share their keys.
bool is_packed(const AttentionParams& p, int splits) {
  return splits > 1 || (p.heads > p.kv_heads && p.length <= kPackedRows / 2);
}

bool is_general(const AttentionParams& p) {
  return p.mask != nullptr || !(p.scale > 0.0f) || p.window > 0 || p.softcap > 0.0f;
}

unsigned obstacles_of(const AttentionParams& p, const DeviceFacts& facts) {
  unsigned found = 0;
  const auto add = [&](bool stands, Obstacle obstacle) {
    if (stands) found |= obstacle;
  };
  add(facts.compute / 10 != 9, kNotHopper);
  add(!facts.build.sm90a, kNotBuilt);
  add(!facts.tensor_maps, kNoTensorMaps);
  add(p.mask != nullptr, kMask);
  add(!(p.scale > 0.0f), kScale);
  add(p.softcap > 0.0f, kSoftcap);
  add(p.aligned == 0, kNotAligned);
  add(p.length < kLeastHopperQueries, kFewQueries);
  add(p.kv_length == 0, kNoKeys);
  add(int64_t{p.batch} * p.heads * p.length > kMostHopperRows, kManyRows);
  return found;
}

std::string obstacle_text(Obstacle obstacle, const AttentionParams& p, const DeviceFacts& facts) {
  switch (obstacle) {
    case kNotHopper:
      return fmt::format("wgmma is sm_90's alone, and this is sm_{}", facts.compute);
    case kNotBuilt:
      return "this build has no code for sm_90a";
    case kNoTensorMaps:
      return "the driver describes no such tensors to the copy engine";
    case kMask:
      return "it reads no mask tensor";
    case kScale:
      return fmt::format("it folds the scale into the exponent, which wants a positive one, and it is {:g}",
                         p.scale);
    case kSoftcap:
      return "it caps no scores";
    case kNotAligned:
      return "its copy engine loads rows that start on 16 bytes and fill them, and these do not";
    case kFewQueries:
      return fmt::format("it is made for {} queries and more, and there {} {}", kLeastHopperQueries,
                         p.length == 1 ? "is" : "are", p.length);
    case kNoKeys:
      return "there are no keys";
    case kManyRows:
      break;
  }
  return "it counts no more than 2^36 rows";
}

std::string general_text(const AttentionParams& p) {
  std::vector<std::string> whys;
  if (p.mask != nullptr) whys.emplace_back("a mask tensor");
  if (p.window > 0) whys.emplace_back("a window");
  if (p.softcap > 0.0f) whys.emplace_back("capped scores");
  if (!(p.scale > 0.0f)) whys.emplace_back("a scale that is not positive");
  return fmt::format("its general form, which scales and masks every score: {}", base::join(whys, ", "));
}

}  // namespace

Build this_build() { return {HUNCH_HAS_CUDA == 1, HUNCH_HAS_SM90A == 1, HUNCH_NEWEST_SM}; }

int64_t shared_bytes_of(int compute) {
  const int major = compute / 10;
  if (compute == 80 || compute == 87) return int64_t{163} << 10;
  if (major >= 9 && major <= 11) return int64_t{227} << 10;
  return int64_t{99} << 10;
}

int64_t packed_tiles(const AttentionParams& p) {
  const int64_t rows = int64_t{p.heads / p.kv_heads} * p.length;
  return (rows + kPackedRows - 1) / kPackedRows * p.batch * p.kv_heads;
}

bool has_clusters(const DeviceFacts& facts, int blocks) {
  return blocks > 1 && blocks <= kMostClustered && facts.compute / 10 == 9 && facts.build.sm90a;
}

// By measurement (packed_sm80.cuh has the ladder): two blocks can always be a cluster. Larger clusters leave
// holes, and do not all run at once unless they take no more than three quarters of the device; so with many
// keys a part, where coming together is little of the time, a full device is worth more.
Parts parts_of_keys(const AttentionParams& p, const DeviceFacts& facts) {
  if (p.causal != 0 || facts.multiprocessors <= 0) return {};
  const int64_t tiles = packed_tiles(p);
  const int64_t slots = int64_t{2} * facts.multiprocessors;
  if (tiles == 0 || tiles * 4 > slots * 3) return {};
  const int64_t most = std::clamp<int64_t>(p.kv_length / kLeastPartKeys, 1, kMostParts);
  const auto filling = static_cast<int>(std::clamp<int64_t>(slots / tiles, 1, most));
  if (filling == 2) return {2, has_clusters(facts, 2)};
  const auto clustered = static_cast<int>(std::min<int64_t>({slots * 3 / 4 / tiles, most, kMostClustered}));
  if (has_clusters(facts, clustered) && clustered * tiles * 5 >= slots * 3 &&
      p.kv_length / clustered <= kMostClusteredKeys)
    return {clustered, true};
  return {filling, false};
}

Kernel choose_sm80_kernel(const AttentionParams& p, const DeviceFacts& facts, Parts parts) {
  Kernel kernel;
  kernel.parts = parts;
  kernel.general = is_general(p);
  kernel.packed = is_packed(p, parts.count);
  const int dim = std::max(p.head_dim, p.value_dim);
  if (kernel.general) {
    kernel.shape = dim <= 64 ? Shape::low64 : dim <= 128 ? Shape::low128 : Shape::low256;
  } else if (kernel.packed) {
    kernel.shape = dim <= 64 ? Shape::deep64 : dim <= 128 ? Shape::deep128 : Shape::low256;
  } else if (dim <= 64) {
    kernel.shape = p.causal != 0 && p.length <= kShortCausal ? Shape::small : Shape::narrow;
  } else if (dim <= 128) {
    kernel.shape = Shape::middle;
  } else {
    kernel.shape = facts.shared_bytes >= tile_of(Shape::wide).shared_bytes() ? Shape::wide : Shape::low256;
  }
  return kernel;
}

Kernel choose_kernel(const AttentionParams& p, const DeviceFacts& facts) {
  const unsigned obstacles = obstacles_of(p, facts);
  Kernel kernel;
  if (obstacles == 0) {
    const int dim = std::max(p.head_dim, p.value_dim);
    kernel.shape = dim <= 64                  ? Shape::hopper64
                   : dim > 128                ? Shape::hopper256
                   : p.kv_length <= kManyKeys ? Shape::hopper128
                                              : Shape::hopper128_long;
    return kernel;
  }
  kernel = choose_sm80_kernel(p, facts, parts_of_keys(p, facts));
  kernel.obstacles = obstacles;
  return kernel;
}

std::string_view kernel_name(Family family, ElementType type) {
  if (family == Family::sm90)
    return type == ElementType::bf16 ? "hunch::attention::sm90::flash_forward_kernel<bf16>"
                                     : "hunch::attention::sm90::flash_forward_kernel<f16>";
  return type == ElementType::bf16 ? "hunch::attention::sm80::flash_forward_kernel<bf16>"
                                   : "hunch::attention::sm80::flash_forward_kernel<f16>";
}

std::vector<std::string> because(const Kernel& kernel, const AttentionParams& p, const DeviceFacts& facts) {
  std::vector<std::string> out;
  const Tile tile = kernel.tile();
  if (tile.family == Family::sm90) {
    out.push_back(fmt::format("the Hopper kernel (wgmma, copy engine): tiles of {} queries x {} keys",
                              tile.rows, tile.keys));
  } else {
    out.push_back(
        fmt::format("the sm_80 kernel (mma.sync): tiles of {} queries x {} keys", tile.rows, tile.keys));
    if ((kernel.obstacles & kNotHopper) != 0) {
      out.push_back("not the Hopper kernel: " + obstacle_text(kNotHopper, p, facts));
    } else {
      std::vector<std::string> whys;
      for (unsigned bit = kNotBuilt; bit <= kManyRows; bit <<= 1)
        if ((kernel.obstacles & bit) != 0)
          whys.push_back(obstacle_text(static_cast<Obstacle>(bit), p, facts));
      if (!whys.empty()) out.push_back("not the Hopper kernel: " + base::join(whys, "; "));
    }
  }
  if (kernel.general) out.push_back(general_text(p));
  if (kernel.packed && p.heads > p.kv_heads)
    out.push_back(fmt::format("the {} query heads of a key head share its tiles, as {} {} few rows",
                              p.heads / p.kv_heads, p.length,
                              p.length == 1 ? "query fills" : "queries fill"));
  if (kernel.parts.count > 1)
    out.push_back(fmt::format("the keys in {} parts, for {} multiprocessors; {}, in the same launch",
                              kernel.parts.count, facts.multiprocessors,
                              kernel.parts.clustered ? "they are a cluster of blocks, which put them together"
                                                     : "the last block of a tile puts them together"));
  if (facts.multiprocessors <= 0 && tile.family == Family::sm80 && p.causal == 0 && p.length <= kPackedRows)
    out.emplace_back(
        "whether the keys are split depends on the number of multiprocessors, which is not told");
  if (facts.build.newest > 0 && facts.compute / 10 > facts.build.newest / 10)
    out.push_back(
        fmt::format("for sm_{} the driver compiles its PTX when it is first used; its shapes were "
                    "measured on sm_90",
                    facts.compute));
  if (!facts.build.cuda) out.emplace_back("this build has no CUDA: one with it would launch this");
  return out;
}

}  // namespace hunch::attention::flash
