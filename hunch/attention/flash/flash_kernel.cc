// See the header. The order of the questions is that of the answers: first the family, then the shape.
#include "hunch/attention/flash/flash_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/attention/flash/few_shape.h"
#include "hunch/base/strings.h"

namespace hunch::attention::flash {
namespace {

using sm80::AttentionParams;
using sm80::ElementType;

constexpr int kLeastHopperQueries = 64;
constexpr int64_t kMostHopperRows = int64_t{1} << 36;
constexpr int kManyKeys = 4096;     // sm90, head_dim to 128: beyond, longer tiles of keys
constexpr int kShortCausal = 1024;  // sm80, head_dim to 64: to here, small tiles
// Where rows of more than one tile count as few.
constexpr int kMostFewRows = 64;
constexpr int kLeastSharedKeys = 256;
constexpr int64_t kMostSharedBytes = 70'000'000;  // of K and V, from three tiles on

// Rows that share their keys.
int64_t rows_of_group(const AttentionParams& p) { return int64_t{p.heads / p.kv_heads} * p.length; }

// Queries of one head that fill at most half a tile, in heads that share their keys.
bool is_packed(const AttentionParams& p, int splits) {
  return splits > 1 || (p.heads > p.kv_heads && p.length <= kPackedRows / 2);
}

bool is_general(const AttentionParams& p) {
  return p.mask != nullptr || !(p.scale > 0.0f) || p.window > 0 || p.softcap > 0.0f;
}

int widest(const AttentionParams& p) { return std::max(p.head_dim, p.value_dim); }

bool may_split(const AttentionParams& p, const DeviceFacts& facts) {
  return p.causal == 0 && facts.multiprocessors > 0;
}

Room room_of(const DeviceFacts& facts) { return {facts.multiprocessors, clusters_of(facts)}; }

// Beyond one tile's rows, the tiles of a group read the same keys, all but the first from the L2 cache:
// sooner done than in one tile of more rows, until what is read takes longer than what else there is.
bool are_few_rows(const AttentionParams& p, const DeviceFacts& facts) {
  const int64_t rows = rows_of_group(p);
  if (facts.shared_bytes < tile_of(few_shape_alone(widest(p))).shared_bytes()) return false;
  if (rows <= kFewRows) return true;
  if (rows > kMostFewRows || p.causal != 0 || p.kv_length < kLeastSharedKeys) return false;
  const int64_t bytes = int64_t{p.batch} * p.kv_heads * p.kv_length * 2 * (p.head_dim + p.value_dim);
  return rows <= 2 * kFewRows || bytes <= kMostSharedBytes;
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

std::string together_text(const Parts& parts) {
  if (parts.cluster == 1) return "the last block of a tile puts them together";
  if (parts.groups() == 1) return "they are a cluster of blocks, which put them together";
  return fmt::format(
      "they are {} clusters of {} blocks, which put theirs together, and the last cluster of a tile "
      "all of them",
      parts.groups(), parts.cluster);
}

Kernel choose_few_rows_kernel(const AttentionParams& p, const DeviceFacts& facts,
                              std::optional<Parts> parts) {
  Kernel kernel;
  kernel.general = is_general(p);
  kernel.packed = kernel.few = true;
  const int64_t tiles = packed_tiles(p, kFewRows);
  const int64_t rows = std::min<int64_t>(rows_of_group(p), kFewRows);
  const FewRows tile{static_cast<int>(rows), 2 * (p.head_dim + p.value_dim)};
  kernel.parts = parts                 ? *parts
                 : may_split(p, facts) ? parts_of_few_rows(tiles, p.kv_length, tile, room_of(facts))
                                       : Parts{};
  kernel.shape =
      few_shape(widest(p), tiles * kernel.parts.count, int64_t{p.kv_length} * tile.key_bytes, facts);
  return kernel;
}

Kernel choose_rows_kernel(const AttentionParams& p, const DeviceFacts& facts, std::optional<Parts> parts) {
  Kernel kernel;
  kernel.general = is_general(p);
  const int dim = widest(p);
  kernel.parts = parts ? *parts
                 : may_split(p, facts)
                     ? parts_of_packed_rows(packed_tiles(p, kPackedRows), p.kv_length, room_of(facts))
                     : Parts{};
  kernel.packed = is_packed(p, kernel.parts.count);
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

}  // namespace

Build this_build() { return {HUNCH_HAS_CUDA == 1, HUNCH_HAS_SM90A == 1, HUNCH_NEWEST_SM}; }

int64_t shared_bytes_of(int compute) {
  const int major = compute / 10;
  if (compute == 80 || compute == 87) return int64_t{163} << 10;
  if (major >= 9 && major <= 11) return int64_t{227} << 10;
  return int64_t{99} << 10;
}

int64_t packed_tiles(const AttentionParams& p, int rows) {
  return (rows_of_group(p) + rows - 1) / rows * p.batch * p.kv_heads;
}

Clusters clusters_of(const DeviceFacts& facts) {
  return facts.compute / 10 == 9 && facts.build.sm90a ? facts.clusters : Clusters{};
}

Kernel choose_sm80_kernel(const AttentionParams& p, const DeviceFacts& facts, std::optional<Parts> parts) {
  return are_few_rows(p, facts) ? choose_few_rows_kernel(p, facts, parts)
                                : choose_rows_kernel(p, facts, parts);
}

Kernel choose_kernel(const AttentionParams& p, const DeviceFacts& facts) {
  const unsigned obstacles = obstacles_of(p, facts);
  Kernel kernel;
  if (obstacles == 0) {
    const int dim = widest(p);
    kernel.shape = dim <= 64                  ? Shape::hopper64
                   : dim > 128                ? Shape::hopper256
                   : p.kv_length <= kManyKeys ? Shape::hopper128
                                              : Shape::hopper128_long;
    return kernel;
  }
  kernel = choose_sm80_kernel(p, facts);
  kernel.obstacles = obstacles;
  return kernel;
}

std::string_view kernel_name(const Kernel& kernel, ElementType type) {
  const bool bf16 = type == ElementType::bf16;
  if (kernel.family() == Family::sm90)
    return bf16 ? "hunch::attention::sm90::flash_forward_kernel<bf16>"
                : "hunch::attention::sm90::flash_forward_kernel<f16>";
  if (kernel.few)
    return bf16 ? "hunch::attention::sm80::flash_few_rows_kernel<bf16>"
                : "hunch::attention::sm80::flash_few_rows_kernel<f16>";
  return bf16 ? "hunch::attention::sm80::flash_forward_kernel<bf16>"
              : "hunch::attention::sm80::flash_forward_kernel<f16>";
}

std::vector<std::string> because(const Kernel& kernel, const AttentionParams& p, const DeviceFacts& facts) {
  std::vector<std::string> out;
  const Tile tile = kernel.tile();
  if (tile.family == Family::sm90) {
    out.push_back(fmt::format("the Hopper kernel (wgmma, copy engine): tiles of {} queries x {} keys",
                              tile.rows, tile.keys));
  } else {
    out.push_back(fmt::format("the sm_80 kernel{} (mma.sync): tiles of {} queries x {} keys{}",
                              kernel.few ? " for few rows" : "", tile.rows, tile.keys,
                              kernel.few ? ", of which each warp reads its own" : ""));
    if (kernel.few && tile.blocks_per_sm > 1 && facts.multiprocessors > 0)
      out.push_back(fmt::format("{} blocks to a multiprocessor: there are {} for {} multiprocessors",
                                tile.blocks_per_sm, packed_tiles(p, kFewRows) * kernel.parts.count,
                                facts.multiprocessors));
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
  if (kernel.few && rows_of_group(p) > kFewRows)
    out.push_back(fmt::format("{} rows share their keys, in {} tiles that read them side by side",
                              rows_of_group(p), (rows_of_group(p) + kFewRows - 1) / kFewRows));
  if (kernel.packed && p.heads > p.kv_heads)
    out.push_back(fmt::format("the {} query heads of a key head share its tiles, as {} {} few rows",
                              p.heads / p.kv_heads, p.length,
                              p.length == 1 ? "query fills" : "queries fill"));
  if (kernel.parts.count > 1)
    out.push_back(fmt::format("the keys in {} parts, for {} multiprocessors; {}, in the same launch",
                              kernel.parts.count, facts.multiprocessors, together_text(kernel.parts)));
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
