// Which flash kernel of ours computes a call on a CUDA device, and what decided it: a pure function, so that
// the launch on a GPU and `hunch why` without one give the same answer.
//
// In:  AttentionParams, of which sizes, switches and strides are read and no data, and what there is to know
//      of the device and the build. Out: the family, the compiled shape, the parts of the keys; in words too.
// Holds: flash_sm80.cu and flash_sm90.cu compile the shapes of this table and choose nothing themselves.
//
// Shapes by measurement on one H200 (ladders in flash_sm80.cuh and flash_sm90.cuh).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/attention/flash/parts.h"
#include "hunch/attention/tiles/attention_params.h"

namespace hunch::attention::flash {

enum class Family { sm80, sm90 };  // mma.sync and cp.async; wgmma and the copy engine

enum class Shape {
  // sm80: head_dim to 64: narrow, and small for short causal calls, where small tiles waste less above the
  // diagonal; to 128: middle; to 256: wide where there is the shared memory for it, low256 where not.
  small,
  narrow,
  middle,
  wide,
  // sm80, general kernel and packed rows: masks, windows, capped scores, and scales that are not positive.
  low64,
  low128,
  low256,
  // sm80, packed rows: more bytes under way, as decoding waits for memory.
  deep64,
  deep128,
  // sm80, at most kFewRows packed rows: for no more blocks than multiprocessors, and for two, three and four
  // on each.
  few64,
  few64_three,
  few64_four,
  few128,
  few128_two,
  few128_three,
  few128_four,
  few256,
  few256_three,
  few256_four,
  // sm90: head_dim to 64, to 128, the same for many keys, to 256.
  hopper64,
  hopper128,
  hopper128_long,
  hopper256,
};

struct Tile {
  Family family;
  int dim;         // head_dim rounded up
  int rows, keys;  // of a tile; few rows: of all warps together
  int stages;      // tiles of K and of V that shared memory has room for
  // sm80
  int warps, blocks_per_sm;
  bool query_in_registers;
  // sm90
  int query_stages;

  constexpr int shared_bytes() const {  // sm80
    return rows * dim * 2 + 2 * stages * keys * dim * 2;
  }
};

constexpr Tile tile_of(Shape shape) {
  switch (shape) {
    case Shape::small:
      return {Family::sm80, 64, 64, 64, 2, 4, 3, true, 0};
    case Shape::narrow:
      return {Family::sm80, 64, 128, 96, 2, 4, 2, false, 0};
    case Shape::middle:
      return {Family::sm80, 128, 128, 64, 1, 4, 2, false, 0};
    case Shape::wide:
      return {Family::sm80, 256, 128, 80, 1, 8, 1, false, 0};
    case Shape::low64:
      return {Family::sm80, 64, 64, 64, 2, 4, 2, true, 0};
    case Shape::low128:
      return {Family::sm80, 128, 64, 32, 2, 4, 2, true, 0};
    case Shape::low256:
      return {Family::sm80, 256, 64, 32, 2, 4, 1, false, 0};
    case Shape::deep64:
      return {Family::sm80, 64, 64, 128, 2, 4, 2, true, 0};
    case Shape::deep128:
      return {Family::sm80, 128, 64, 64, 2, 4, 2, true, 0};
    case Shape::few64:
      return {Family::sm80, 64, 16, 256, 2, 8, 1, true, 0};
    case Shape::few64_three:
      return {Family::sm80, 64, 16, 128, 2, 4, 3, true, 0};
    case Shape::few64_four:
      return {Family::sm80, 64, 16, 64, 3, 2, 4, true, 0};
    case Shape::few128:
      return {Family::sm80, 128, 16, 128, 2, 8, 1, true, 0};
    case Shape::few128_two:
      return {Family::sm80, 128, 16, 64, 3, 4, 2, true, 0};
    case Shape::few128_three:
      return {Family::sm80, 128, 16, 64, 2, 2, 3, true, 0};
    case Shape::few128_four:
      return {Family::sm80, 128, 16, 32, 3, 2, 4, true, 0};
    case Shape::few256:
      return {Family::sm80, 256, 16, 64, 2, 4, 1, false, 0};
    case Shape::few256_three:
      return {Family::sm80, 256, 16, 32, 2, 2, 3, false, 0};
    case Shape::few256_four:
      return {Family::sm80, 256, 16, 16, 3, 1, 4, false, 0};
    case Shape::hopper64:
      return {Family::sm90, 64, 192, 128, 2, 0, 0, false, 2};
    case Shape::hopper128:
      return {Family::sm90, 128, 128, 128, 2, 0, 0, false, 2};
    case Shape::hopper128_long:
      return {Family::sm90, 128, 128, 176, 2, 0, 0, false, 1};
    case Shape::hopper256:
      break;
  }
  return {Family::sm90, 256, 128, 80, 2, 0, 0, false, 1};
}

inline constexpr int kPackedRows = 64;  // rows of a block with packed rows, whatever the shape
inline constexpr int kFewRows = 16;     // the same of the kernel for few rows

// What a build has.
struct Build {
  bool cuda = false;
  bool sm90a = false;  // code for sm_90a: without it the Hopper kernel is an empty one
  int newest = 0;      // the newest architecture with code of its own, 90; newer ones compile PTX
};
Build this_build();

struct DeviceFacts {
  int compute = 0;                      // 90 for sm_90
  int multiprocessors = 0;              // 0: not known, and keys are then not split
  int64_t shared_bytes = 0;             // that a block may opt in to
  bool tensor_maps = true;              // the driver can describe tensors to the copy engine
  Clusters clusters = kHopperClusters;  // of the kernel for few rows, where the device has them at all
  Build build = this_build();
};

// What CUDA's documentation gives for the architecture.
int64_t shared_bytes_of(int compute);

// What keeps the Hopper kernel away, as bits.
enum Obstacle : unsigned {
  kNotHopper = 1u << 0,
  kNotBuilt = 1u << 1,
  kNoTensorMaps = 1u << 2,
  kMask = 1u << 3,
  kScale = 1u << 4,  // not positive
  kSoftcap = 1u << 5,
  kNotAligned = 1u << 6,
  kFewQueries = 1u << 7,
  kNoKeys = 1u << 8,
  kManyRows = 1u << 9,
};

struct Kernel {
  Shape shape = Shape::narrow;
  bool general = false;    // sm80: scores are scaled and masked before the maximum is taken
  bool packed = false;     // sm80: the query heads that share a key head fill one tile
  bool few = false;        // sm80: and are so few that the warps of a block share out the keys
  Parts parts;             // of the keys
  unsigned obstacles = 0;  // why not the Hopper kernel

  Tile tile() const { return tile_of(shape); }
  Family family() const { return tile().family; }
};

// Tiles of packed rows, `rows` each: a block each, and one for each part of the keys.
int64_t packed_tiles(const sm80::AttentionParams& params, int rows);
// For bf16 and f16, with head_dim and value_dim of 1 to 256. `params.splits` is not read.
Kernel choose_kernel(const sm80::AttentionParams& params, const DeviceFacts& facts);
// The sm_80 family's; with these parts, where they are given.
Kernel choose_sm80_kernel(const sm80::AttentionParams& params, const DeviceFacts& facts,
                          std::optional<Parts> parts = std::nullopt);
// Those that this build has code for.
Clusters clusters_of(const DeviceFacts& facts);

// As recordings have it: "hunch::attention::sm90::flash_forward_kernel<bf16>".
std::string_view kernel_name(const Kernel& kernel, sm80::ElementType type);
// What decided, a clause each.
std::vector<std::string> because(const Kernel& kernel, const sm80::AttentionParams& params,
                                 const DeviceFacts& facts);

}  // namespace hunch::attention::flash
