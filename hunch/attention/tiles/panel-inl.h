// A panel: up to kPanelRows queries that share one key head, laid out with queries on the lanes, and all
// that happens to it at its borders: packing the queries, masks, and writing the result.
// Include it below hwy/foreach_target.h, after simd-inl.h.
//
// The rows of a key head are numbered position * group + member, so a panel holds neighbouring positions of
// all query heads of the group: one pass over K and V serves them all, and causal limits stay tight.
#if defined(HUNCH_ATTENTION_TILES_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HUNCH_ATTENTION_TILES_PANEL_INL_H_
#undef HUNCH_ATTENTION_TILES_PANEL_INL_H_
#else
#define HUNCH_ATTENTION_TILES_PANEL_INL_H_
#endif

#include <bit>
#include <cmath>

#include "hunch/attention/tiles/fused_problem.h"
#include "hunch/attention/tiles/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hunch::attention::tiles {
namespace HWY_NAMESPACE {

constexpr int kPanelRows = kPanelVectors * kLanes;

// The state of one panel; memory belongs to the caller, vectors are aligned.
struct Panel {
  int64_t batch = 0, kv_head = 0;
  int64_t first_row = 0;
  int rows = 0;     // lanes in use
  int vectors = 0;  // vectors in use
  int64_t min_position = 0, max_position = 0;
  float* queries = nullptr;      // [head_dim][kPanelRows], times scale * log2(e)
  float* out = nullptr;          // [value_dim][kPanelRows], unnormalised
  float* maxima = nullptr;       // [kPanelRows], log2 units
  float* before = nullptr;       // maxima before this tile
  float* sums = nullptr;         // of the weights
  float* rescale = nullptr;      // what a tile's new maxima do to earlier sums
  int32_t* positions = nullptr;  // [kPanelRows], query positions
};

constexpr int64_t AlignFloats(int64_t count) { return (count + 15) / 16 * 16; }

inline int64_t PanelFloats(const FusedProblem& problem) {
  return (problem.head_dim + problem.value_dim + 5) * kPanelRows;
}

inline Panel PlacePanel(const FusedProblem& problem, float* memory) {
  Panel panel;
  panel.queries = memory;
  panel.out = panel.queries + problem.head_dim * kPanelRows;
  panel.maxima = panel.out + problem.value_dim * kPanelRows;
  panel.before = panel.maxima + kPanelRows;
  panel.sums = panel.before + kPanelRows;
  panel.rescale = panel.sums + kPanelRows;
  panel.positions = reinterpret_cast<int32_t*>(panel.rescale + kPanelRows);
  return panel;
}

// A tile of K or V as float rows: where it lies if it can be read in place, else widened into a buffer.
struct TileRows {
  const float* rows = nullptr;
  int64_t stride = 0;
};

// `keys` rows of `count` elements of K or V, from element `first` of `from` on; `to` holds keys * count.
inline TileRows ReadTile(tensor::DType dtype, const void* from, int64_t first, const Strides4& strides,
                         int64_t keys, int64_t count, float* to) {
  const void* const at = ElementAt(from, dtype, first);
  if (dtype == tensor::DType::f32 && strides[3] == 1) return {static_cast<const float*>(at), strides[2]};
  if (strides[3] == 1 && strides[2] == count) {
    GatherRow(dtype, at, 1, keys * count, to);
  } else {
    for (int64_t key = 0; key < keys; ++key)
      GatherRow(dtype, ElementAt(at, dtype, key * strides[2]), strides[3], count, to + key * count);
  }
  return {to, count};
}

// Loads the queries and clears the running state. `row_buffer` holds head_dim floats.
inline void StartPanel(const FusedProblem& problem, int64_t batch, int64_t kv_head, int64_t first_row,
                       int rows, float* row_buffer, Panel& panel) {
  panel.batch = batch;
  panel.kv_head = kv_head;
  panel.first_row = first_row;
  panel.rows = rows;
  panel.vectors = (rows + kLanes - 1) / kLanes;
  const int64_t group = problem.group();
  panel.min_position = first_row / group;
  panel.max_position = (first_row + rows - 1) / group;
  // Idle lanes compute along on zeros; nothing of theirs is stored.
  const int used = panel.vectors * kLanes;
  if (rows < used) std::fill_n(panel.queries, problem.head_dim * kPanelRows, 0.0f);
  const auto factor = static_cast<float>(problem.scale * 1.4426950408889634);
  for (int lane = 0; lane < rows; ++lane) {
    const int64_t row = first_row + lane;
    const int64_t head = kv_head * group + row % group;
    const Strides4& s = problem.query_strides;
    GatherRow(problem.dtype,
              ElementAt(problem.query, problem.dtype, batch * s[0] + head * s[1] + row / group * s[2]), s[3],
              problem.head_dim, row_buffer);
    for (int64_t i = 0; i < problem.head_dim; ++i)
      panel.queries[i * kPanelRows + lane] = row_buffer[i] * factor;
    panel.positions[lane] = static_cast<int32_t>(row / group);
  }
  for (int lane = rows; lane < used; ++lane) panel.positions[lane] = static_cast<int32_t>(panel.max_position);
  std::fill_n(panel.out, problem.value_dim * kPanelRows, 0.0f);
  std::fill_n(panel.maxima, kPanelRows, kNegativeInfinity);
  std::fill_n(panel.sums, kPanelRows, 0.0f);
}

// Turns `lanes` (at most kPanelRows) rows of `keys` bytes into [key][kPanelRows]. `row_of(lane)` is a row's
// start, elements `stride` apart.
template <class RowOf>
HWY_INLINE void TurnBytes(const RowOf& row_of, int lanes, int64_t stride, int64_t keys,
                          uint8_t* HWY_RESTRICT to) {
  int lane = 0;
  constexpr bool kLittle = std::endian::native == std::endian::little;  // byte i of a word is lane i
  for (; kLittle && stride == 1 && lane + 8 <= lanes; lane += 8) {
    const uint8_t* rows[8];
    for (int i = 0; i < 8; ++i) rows[i] = static_cast<const uint8_t*>(row_of(lane + i));
    int64_t key = 0;
    for (; key + 8 <= keys; key += 8) {
      uint64_t x[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) std::memcpy(&x[i], rows[i] + key, 8);
      // An 8 x 8 transpose in place: swap the off-diagonal quarters of 8 x 8, then of 4 x 4, then of 2 x 2.
      const auto swap = [&x](int a, int b, int shift, uint64_t low) {
        const uint64_t exchanged = ((x[a] >> shift) ^ x[b]) & low;
        x[a] ^= exchanged << shift;
        x[b] ^= exchanged;
      };
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) swap(i, i + 4, 32, 0x00000000FFFFFFFFull);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) swap(i + (i & 2), i + (i & 2) + 2, 16, 0x0000FFFF0000FFFFull);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) swap(2 * i, 2 * i + 1, 8, 0x00FF00FF00FF00FFull);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) std::memcpy(to + (key + i) * kPanelRows + lane, &x[i], 8);
    }
    for (; key < keys; ++key)
      for (int i = 0; i < 8; ++i) to[key * kPanelRows + lane + i] = rows[i][key];
  }
  for (; lane < lanes; ++lane) {
    const auto* const from = static_cast<const uint8_t*>(row_of(lane));
    for (int64_t key = 0; key < keys; ++key) to[key * kPanelRows + lane] = from[key * stride];
  }
}

// Floats that ApplyMask needs for tiles of `keys` keys.
inline int64_t MaskFloats(const FusedProblem& problem, int64_t keys) {
  return problem.mask.data == nullptr ? 0 : AlignFloats(keys * (kPanelRows + 1));
}

// Applies the mask to scores [keys][kPanelRows] of keys from `first_key` on. `buffer` holds MaskFloats(keys).
// A mask is stored with keys side by side, a panel has queries on its lanes: a tile of it is turned first.
inline void ApplyMask(const FusedProblem& problem, const Panel& panel, int64_t first_key, int64_t keys,
                      float* buffer, float* HWY_RESTRICT scores) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const hn::Rebind<uint8_t, FloatTag> d8;
  const MaskView& mask = problem.mask;
  const int64_t group = problem.group();
  const Strides4& s = mask.strides;
  const bool keep = mask.dtype == tensor::DType::boolean;
  const auto lowest = hn::Set(d, kNegativeInfinity);
  const auto row_of = [&](int lane) {
    const int64_t row = panel.first_row + lane;
    const int64_t head = panel.kv_head * group + row % group;
    return ElementAt(mask.data, mask.dtype,
                     panel.batch * s[0] + head * s[1] + row / group * s[2] + first_key * s[3]);
  };
  const int used = panel.vectors * kLanes;
  float* const row_buffer = buffer + keys * kPanelRows;

  if (s[2] == 0 && (s[1] == 0 || group == 1)) {  // one row for all lanes
    const auto* const bytes = static_cast<const uint8_t*>(row_of(0));
    if (!keep) GatherRow(mask.dtype, bytes, s[3], keys, row_buffer);
    for (int64_t key = 0; key < keys; ++key) {
      float* const at = scores + key * kPanelRows;
      if (keep) {
        if (bytes[key * s[3]] == 0) std::fill_n(at, used, kNegativeInfinity);
        continue;
      }
      const auto bias = hn::Set(d, BiasInLog2(row_buffer[key]));
      for (int v = 0; v < used; v += kLanes) hn::Store(hn::Add(hn::Load(d, at + v), bias), d, at + v);
    }
    return;
  }
  if (keep) {
    auto* const turned = reinterpret_cast<uint8_t*>(buffer);
    if (panel.rows < used) std::memset(turned, 1, static_cast<std::size_t>(keys * kPanelRows));
    TurnBytes(row_of, panel.rows, s[3], keys, turned);
    for (int64_t key = 0; key < keys; ++key)
      for (int v = 0; v < used; v += kLanes) {
        float* const at = scores + key * kPanelRows + v;
        const auto kept = hn::PromoteTo(di, hn::LoadU(d8, turned + key * kPanelRows + v));
        const auto hidden = hn::RebindMask(d, hn::Eq(kept, hn::Zero(di)));
        hn::Store(hn::IfThenElse(hidden, lowest, hn::Load(d, at)), d, at);
      }
    return;
  }
  if (panel.rows < used) std::fill_n(buffer, keys * kPanelRows, 0.0f);
  for (int lane = 0; lane < panel.rows; ++lane) {
    GatherRow(mask.dtype, row_of(lane), s[3], keys, row_buffer);
    for (int64_t key = 0; key < keys; ++key) buffer[key * kPanelRows + lane] = row_buffer[key];
  }
  for (int64_t key = 0; key < keys; ++key)
    for (int v = 0; v < used; v += kLanes) {
      float* const at = scores + key * kPanelRows + v;
      hn::Store(hn::Add(hn::Load(d, at), BiasInLog2(hn::Load(d, buffer + key * kPanelRows + v))), d, at);
    }
}

// Normalises and writes the panel's rows and LSE. `row_buffer` holds value_dim floats.
inline void FinishPanel(const FusedProblem& problem, const Panel& panel, float* row_buffer) {
  const int64_t group = problem.group();
  for (int lane = 0; lane < panel.rows; ++lane) {
    const int64_t row = panel.first_row + lane;
    const int64_t head = panel.kv_head * group + row % group;
    const int64_t out_row = (panel.batch * problem.heads + head) * problem.length + row / group;
    const float sum = panel.sums[lane];
    const bool empty = sum == 0.0f;  // nothing attended: zeros and LSE -inf; a NaN is not 0
    const float inverse = 1.0f / sum;
    for (int64_t i = 0; i < problem.value_dim; ++i)
      row_buffer[i] = empty ? 0.0f : panel.out[i * kPanelRows + lane] * inverse;
    std::byte* const out = static_cast<std::byte*>(problem.out) +
                           out_row * problem.value_dim * static_cast<int64_t>(tensor::size_of(problem.dtype));
    tensor::narrow(problem.dtype, row_buffer, problem.value_dim, out);
    if (problem.lse != nullptr)
      problem.lse[out_row] = empty ? kNegativeInfinity : (panel.maxima[lane] + std::log2(sum)) / kLog2E;
  }
}

// scores = keys of K times the panel's queries, with lane maxima raised; vectors is a template in Product.
inline void Scores(const Panel& panel, const float* key, int64_t key_stride, int64_t keys, int64_t head_dim,
                   float* scores) {
  switch (panel.vectors) {
    case 1:
      return Product<true, false, 1>(key, key_stride, 1, keys, head_dim, panel.queries, kPanelRows, scores,
                                     kPanelRows, panel.maxima);
    case 2:
      return Product<true, false, 2>(key, key_stride, 1, keys, head_dim, panel.queries, kPanelRows, scores,
                                     kPanelRows, panel.maxima);
    default:
      return Product<true, false, 3>(key, key_stride, 1, keys, head_dim, panel.queries, kPanelRows, scores,
                                     kPanelRows, panel.maxima);
  }
}

inline void Softmax(const Panel& panel, float* scores, int64_t keys) {
  switch (panel.vectors) {
    case 1:
      return SoftmaxStep<1>(scores, keys, kPanelRows, panel.maxima, panel.before, panel.sums, panel.rescale);
    case 2:
      return SoftmaxStep<2>(scores, keys, kPanelRows, panel.maxima, panel.before, panel.sums, panel.rescale);
    default:
      return SoftmaxStep<3>(scores, keys, kPanelRows, panel.maxima, panel.before, panel.sums, panel.rescale);
  }
}

// out = out * rescale + weights * V. V is [keys][value_dim] with rows `stride` apart, or, where kStrips, what
// PackStrips made of `stride` keys.
template <bool kStrips>
inline void AddValues(const Panel& panel, const float* weights, int64_t keys, const float* value,
                      int64_t stride, int64_t value_dim) {
  const int64_t row = kStrips ? stride : 1, step = kStrips ? 1 : stride;
  switch (panel.vectors) {
    case 1:
      return Product<false, kStrips, 1>(value, row, step, value_dim, keys, weights, kPanelRows, panel.out,
                                        kPanelRows, panel.rescale);
    case 2:
      return Product<false, kStrips, 2>(value, row, step, value_dim, keys, weights, kPanelRows, panel.out,
                                        kPanelRows, panel.rescale);
    default:
      return Product<false, kStrips, 3>(value, row, step, value_dim, keys, weights, kPanelRows, panel.out,
                                        kPanelRows, panel.rescale);
  }
}

// Adds another part of the same panel, brought to the panel's maxima: out, maxima and sums as a Panel's.
inline void AddPart(const float* out, const float* maxima, const float* sums, int64_t value_dim,
                    const Panel& panel) {
  const FloatTag d;
  for (int lane = 0; lane < kPanelRows; lane += kLanes) {
    const auto total = hn::Load(d, panel.maxima + lane);
    const auto top = hn::IfThenElse(hn::Eq(total, hn::Set(d, kNegativeInfinity)), hn::Zero(d), total);
    const auto factor = Exp2(hn::Sub(hn::Load(d, maxima + lane), top));
    const auto add = [&](const float* from, float* to) HWY_ATTR {
      hn::Store(hn::MulAdd(hn::Load(d, from), factor, hn::Load(d, to)), d, to);
    };
    add(sums + lane, panel.sums + lane);
    for (int64_t i = 0; i < value_dim; ++i)
      add(out + i * kPanelRows + lane, panel.out + i * kPanelRows + lane);
  }
}

// The scores changed under a mask: find the maxima again, from those before the tile.
inline void RenewMaxima(const Panel& panel, const float* scores, int64_t keys) {
  std::copy_n(panel.before, kPanelRows, panel.maxima);
  RaiseMaxima(scores, keys, kPanelRows, panel.vectors, panel.maxima);
}

}  // namespace HWY_NAMESPACE
}  // namespace hunch::attention::tiles
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
