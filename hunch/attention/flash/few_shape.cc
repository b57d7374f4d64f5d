#include "hunch/attention/flash/few_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace hunch::attention::flash {
namespace {

struct Choice {
  Shape shape;
  double more;  // time it takes beside the others where all blocks run at once
};

constexpr Choice k64[] = {{Shape::few64_three, 0.0}, {Shape::few64_four, 0.01}};
constexpr Choice k128[] = {{Shape::few128_three, 0.0}, {Shape::few128_two, 0.01}, {Shape::few128_four, 0.01}};
constexpr Choice k256[] = {{Shape::few256_three, 0.0}, {Shape::few256_four, 0.02}};

std::span<const Choice> choices_of(int dim) {
  if (dim <= 64) return k64;
  if (dim <= 128) return k128;
  return k256;
}

// How long blocks take that come in waves of as many as the device holds, in the time that a multiprocessor
// takes to read for one of them. A last wave that is not full takes more than its part: what is left goes to
// whichever multiprocessors are free first, not one to each.
double waves_time(int64_t blocks, int64_t multiprocessors, int64_t each) {
  constexpr double kStart = 0.2;  // of a wave
  const double filled = static_cast<double>(blocks) / static_cast<double>(multiprocessors * each);
  const double waves = std::ceil(filled), left = filled - (waves - 1);
  const double last = waves == 1 ? left : left < 0.5 ? 0.15 + 1.2 * left : 0.5 + 0.5 * left;
  return static_cast<double>(each) * (waves - 1 + last) + kStart * waves;
}

}  // namespace

Shape few_shape_alone(int dim) {
  return dim <= 64 ? Shape::few64 : dim <= 128 ? Shape::few128 : Shape::few256;
}

// Of 714 shapes (136 to 2048 tiles, 256 to 4096 keys, 1 to 16 rows, head_dim 64 to 256) what it chose took
// 0.5 % longer than the best of its table, at most 9 %.
Shape few_shape(int dim, int64_t blocks, int64_t bytes, const DeviceFacts& facts) {
  constexpr int64_t kFewBytes = 256 << 10;  // up to here, blocks of four warps start sooner than of two
  const int64_t multiprocessors = facts.multiprocessors;
  if (blocks <= multiprocessors) return few_shape_alone(dim);
  const std::span<const Choice> choices = choices_of(dim);
  if (multiprocessors <= 0) return choices.front().shape;
  if (dim > 64 && dim <= 128 && blocks <= 2 * multiprocessors && bytes <= kFewBytes) return Shape::few128_two;
  Shape best = choices.front().shape;
  double least = std::numeric_limits<double>::infinity();
  for (const Choice& choice : choices) {
    constexpr int64_t kReserved = 1 << 10;  // of shared memory, by the driver, for each block
    const Tile tile = tile_of(choice.shape);
    const int64_t fitting = (facts.shared_bytes + kReserved) / (tile.shared_bytes() + kReserved);
    const int64_t each = std::clamp<int64_t>(fitting, 1, tile.blocks_per_sm);
    const double time = waves_time(blocks, multiprocessors, each) * (1 + choice.more);
    if (time < least) {
      least = time;
      best = choice.shape;
    }
  }
  return best;
}

}  // namespace hunch::attention::flash
