// The walk over the keys for very few queries a key head, as in decoding: channels on the lanes instead of
// queries. A panel would leave most of its lanes idle; here each row of K and V is loaded once, as vectors,
// and used for all rows. Include it below hwy/foreach_target.h.
//
// In:  a started panel of at most kFewRows rows. Out: its out, maxima and sums, as the panel walk leaves
// them.
#if defined(HUNCH_ATTENTION_FLASH_FEW_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HUNCH_ATTENTION_FLASH_FEW_ROWS_INL_H_
#undef HUNCH_ATTENTION_FLASH_FEW_ROWS_INL_H_
#else
#define HUNCH_ATTENTION_FLASH_FEW_ROWS_INL_H_
#endif

#include "hunch/attention/tiles/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hunch::attention::flash {
namespace HWY_NAMESPACE {

namespace few {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = tiles::HWY_NAMESPACE;
using simd::FloatTag;
using simd::FloatVec;
using simd::kLanes;

constexpr int kFewRows = 4;

constexpr int64_t Padded(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// Floats of working memory for tiles of `keys` keys.
inline int64_t ScratchFloats(const tiles::FusedProblem& problem, int64_t keys) {
  return simd::AlignFloats(kFewRows * (Padded(problem.head_dim) + Padded(problem.value_dim) + Padded(keys)));
}

// A vector of one row of K or V, read as it is stored: f32, or bf16 as its bits.
HWY_INLINE FloatVec LoadRow(const float* from) { return hn::LoadU(FloatTag(), from); }
HWY_INLINE FloatVec LoadRow(const uint16_t* from) {
  const FloatTag d;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const hn::RebindToUnsigned<FloatTag> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, from))));
}

// The first `count` lanes of it, zeros behind; reads no more.
HWY_INLINE FloatVec LoadTail(const float* from, std::size_t count) {
  const FloatTag d;
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
}
HWY_INLINE FloatVec LoadTail(const uint16_t* from, std::size_t count) {
  uint16_t whole[kLanes] = {};
  std::memcpy(whole, from, count * sizeof(uint16_t));
  return LoadRow(whole);
}

// scores[row][key] = query row times key row, rows of scores `ld` apart. Queries are padded with zeros, keys
// are not: their last vector is loaded under a mask.
template <int kR, class Element>
HWY_NOINLINE void Dots(const float* HWY_RESTRICT queries, const Element* HWY_RESTRICT key, int64_t stride,
                       int64_t keys, int64_t head_dim, float* HWY_RESTRICT scores, int64_t ld) {
  const FloatTag d;
  constexpr int kKeys = kR == 1 ? 4 : 2;
  const int64_t padded = Padded(head_dim), whole = head_dim / kLanes * kLanes;
  const auto tail = static_cast<std::size_t>(head_dim - whole);
  for (int64_t first = 0; first < keys; first += kKeys) {
    // The last group repeats its last key rather than reading past it.
    const Element* rows[kKeys];
    for (int i = 0; i < kKeys; ++i) rows[i] = key + std::min(first + i, keys - 1) * stride;
    FloatVec sum[kKeys][kR];
#pragma GCC unroll 4
    for (int i = 0; i < kKeys; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) sum[i][r] = hn::Zero(d);
    }
    for (int64_t c = 0; c < whole; c += kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < kKeys; ++i) {
        const auto right = LoadRow(rows[i] + c);
#pragma GCC unroll 4
        for (int r = 0; r < kR; ++r)
          sum[i][r] = hn::MulAdd(hn::Load(d, queries + r * padded + c), right, sum[i][r]);
      }
    }
    if (whole < head_dim) {
#pragma GCC unroll 4
      for (int i = 0; i < kKeys; ++i) {
        const auto right = LoadTail(rows[i] + whole, tail);
#pragma GCC unroll 4
        for (int r = 0; r < kR; ++r)
          sum[i][r] = hn::MulAdd(hn::Load(d, queries + r * padded + whole), right, sum[i][r]);
      }
    }
    for (int i = 0; i < kKeys && first + i < keys; ++i)
      for (int r = 0; r < kR; ++r) scores[r * ld + first + i] = hn::GetLane(hn::SumOfLanes(d, sum[i][r]));
  }
}

// out[row] = out[row] * rescale[row] + weights[row] times V, kBlock vectors of channels from `c` on; the last
// of them, where kTail, only its first `tail_lanes`.
template <int kR, int kBlock, bool kTail, class Element>
HWY_INLINE void ValueBlock(const float* HWY_RESTRICT weights, int64_t ld, const Element* HWY_RESTRICT value,
                           int64_t stride, int64_t keys, const float* HWY_RESTRICT rescale,
                           float* HWY_RESTRICT out, int64_t padded, std::size_t tail_lanes) {
  const FloatTag d;
  FloatVec sum[kR][kBlock];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kBlock; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 8
    for (int v = 0; v < kBlock; ++v) {
      const Element* const at = value + key * stride + v * kLanes;
      const auto right = kTail ? LoadTail(at, tail_lanes) : LoadRow(at);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r)
        sum[r][v] = hn::MulAdd(hn::Set(d, weights[r * ld + key]), right, sum[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kBlock; ++v) {
      float* const at = out + r * padded + v * kLanes;
      hn::Store(hn::MulAdd(hn::Load(d, at), hn::Set(d, rescale[r]), sum[r][v]), d, at);
    }
  }
}

template <int kR, class Element>
HWY_NOINLINE void Values(const float* weights, int64_t ld, const Element* value, int64_t stride, int64_t keys,
                         int64_t value_dim, const float* rescale, float* out) {
  constexpr int kBlock = 8 / kR;
  const int64_t padded = Padded(value_dim);
  int64_t c = 0;
  for (; c + kBlock * kLanes <= value_dim; c += kBlock * kLanes)
    ValueBlock<kR, kBlock, false>(weights, ld, value + c, stride, keys, rescale, out + c, padded, 0);
  for (; c + kLanes <= value_dim; c += kLanes)
    ValueBlock<kR, 1, false>(weights, ld, value + c, stride, keys, rescale, out + c, padded, 0);
  if (c < value_dim)
    ValueBlock<kR, 1, true>(weights, ld, value + c, stride, keys, rescale, out + c, padded,
                            static_cast<std::size_t>(value_dim - c));
}

// The mask of one row over `keys` keys from `first` on.
inline void MaskRow(const tiles::FusedProblem& problem, const simd::Panel& panel, int lane, int64_t first,
                    int64_t keys, float* scores) {
  const int64_t row = panel.first_row + lane;
  if (problem.softcap > 0) {  // rows are padded to whole vectors, and what stands behind `keys` is not read
    simd::CapScores(scores, Padded(keys) / kLanes, kLanes, 1,
                    static_cast<float>(problem.softcap * 1.4426950408889634));
  }
  if (problem.mask.data != nullptr) {
    const tiles::MaskView& mask = problem.mask;
    const int64_t head = panel.kv_head * problem.group() + row % problem.group();
    const tiles::Strides4& s = mask.strides;
    const void* const from =
        simd::ElementAt(mask.data, mask.dtype,
                        panel.batch * s[0] + head * s[1] + row / problem.group() * s[2] + first * s[3]);
    if (mask.dtype == tensor::DType::boolean) {
      for (int64_t key = 0; key < keys; ++key)
        scores[key] =
            static_cast<const uint8_t*>(from)[key * s[3]] != 0 ? scores[key] : simd::kNegativeInfinity;
    } else {
      for (int64_t key = 0; key < keys; ++key)
        scores[key] += simd::BiasInLog2(simd::WidenOne(mask.dtype, from, key * s[3]));
    }
  }
  if (problem.causal) {
    const int64_t seen = std::clamp<int64_t>(panel.positions[lane] + 1 - first, 0, keys);
    std::fill(scores + seen, scores + keys, simd::kNegativeInfinity);
    if (problem.window > 0) {
      const int64_t unseen = std::clamp<int64_t>(panel.positions[lane] + 1 - problem.window - first, 0, keys);
      std::fill(scores, scores + unseen, simd::kNegativeInfinity);
    }
  }
}

// One step of the online softmax for one row of scores; see tiles' SoftmaxStep.
inline void SoftmaxRow(float* HWY_RESTRICT scores, int64_t keys, float& maximum, float& sum, float& rescale) {
  const FloatTag d;
  const int64_t padded = Padded(keys);
  std::fill(scores + keys, scores + padded, simd::kNegativeInfinity);
  auto tops = hn::Set(d, maximum);
  for (int64_t key = 0; key < padded; key += kLanes) tops = hn::Max(tops, hn::Load(d, scores + key));
  const float raised = hn::GetLane(hn::MaxOfLanes(d, tops));
  const auto top = hn::Set(d, raised == simd::kNegativeInfinity ? 0.0f : raised);
  auto sums = hn::Zero(d);
  for (int64_t key = 0; key < padded; key += kLanes) {
    const auto weight = simd::Exp2(hn::Sub(hn::Load(d, scores + key), top));
    sums = hn::Add(sums, weight);
    hn::Store(weight, d, scores + key);
  }
  rescale = hn::GetLane(simd::Exp2(hn::Sub(hn::Set(d, maximum), top)));
  sum = sum * rescale + hn::GetLane(hn::SumOfLanes(d, sums));
  maximum = raised;
}

// A tile of K or V as Walk<.., Element> reads it: in place where Element is the type in memory.
HWY_INLINE void PlaceTile(const tiles::FusedProblem& problem, const void* from, int64_t first,
                          const tiles::Strides4& strides, int64_t keys, int64_t count, float* buffer,
                          const float*& rows, int64_t& stride) {
  const simd::TileRows tile = simd::ReadTile(problem.dtype, from, first, strides, keys, count, buffer);
  rows = tile.rows;
  stride = tile.stride;
}
HWY_INLINE void PlaceTile(const tiles::FusedProblem&, const void* from, int64_t first,
                          const tiles::Strides4& strides, int64_t, int64_t, float*, const uint16_t*& rows,
                          int64_t& stride) {
  rows = static_cast<const uint16_t*>(from) + first;
  stride = strides[2];
}

// Keys [begin, end) in tiles of `tile`. `scratch` holds ScratchFloats; `key_buffer` and `value_buffer` a tile
// each.
template <int kR, class Element>
void Walk(const tiles::FusedProblem& problem, const simd::Panel& panel, int64_t begin, int64_t end,
          int64_t tile, float* scratch, float* key_buffer, float* value_buffer) {
  const int64_t head_padded = Padded(problem.head_dim), value_padded = Padded(problem.value_dim);
  const int64_t ld = Padded(tile);
  float* const queries = scratch;
  float* const out = queries + kR * head_padded;
  float* const scores = out + kR * value_padded;
  std::fill_n(scratch, kR * (head_padded + value_padded), 0.0f);
  for (int r = 0; r < panel.rows; ++r)
    for (int64_t c = 0; c < problem.head_dim; ++c)
      queries[r * head_padded + c] = panel.queries[c * simd::kPanelRows + r];

  const tiles::Strides4 &ks = problem.key_strides, &vs = problem.value_strides;
  const int64_t key_head = panel.batch * ks[0] + panel.kv_head * ks[1];
  const int64_t value_head = panel.batch * vs[0] + panel.kv_head * vs[1];
  for (int64_t first = begin; first < end; first += tile) {
    const int64_t keys = std::min(tile, end - first);
    const Element* rows = nullptr;
    int64_t stride = 0;
    PlaceTile(problem, problem.key, key_head + first * ks[2], ks, keys, problem.head_dim, key_buffer, rows,
              stride);
    Dots<kR>(queries, rows, stride, keys, problem.head_dim, scores, ld);
    float rescale[kR] = {};
    for (int r = 0; r < panel.rows; ++r) {
      MaskRow(problem, panel, r, first, keys, scores + r * ld);
      SoftmaxRow(scores + r * ld, keys, panel.maxima[r], panel.sums[r], rescale[r]);
    }
    PlaceTile(problem, problem.value, value_head + first * vs[2], vs, keys, problem.value_dim, value_buffer,
              rows, stride);
    Values<kR>(scores, ld, rows, stride, keys, problem.value_dim, rescale, out);
  }
  for (int r = 0; r < panel.rows; ++r)
    for (int64_t c = 0; c < problem.value_dim; ++c)
      panel.out[c * simd::kPanelRows + r] = out[r * value_padded + c];
}

// The same for any number of rows up to kFewRows, reading bf16 as it lies where rows are dense.
inline void WalkFewRows(const tiles::FusedProblem& problem, const simd::Panel& panel, int64_t begin,
                        int64_t end, int64_t tile, float* scratch, float* key_buffer, float* value_buffer) {
  const bool bits =
      problem.dtype == tensor::DType::bf16 && problem.key_strides[3] == 1 && problem.value_strides[3] == 1;
  auto* walk = bits ? Walk<4, uint16_t> : Walk<4, float>;
  if (panel.rows == 1) walk = bits ? Walk<1, uint16_t> : Walk<1, float>;
  if (panel.rows == 2) walk = bits ? Walk<2, uint16_t> : Walk<2, float>;
  walk(problem, panel, begin, end, tile, scratch, key_buffer, value_buffer);
}

}  // namespace few
}  // namespace HWY_NAMESPACE
}  // namespace hunch::attention::flash
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
