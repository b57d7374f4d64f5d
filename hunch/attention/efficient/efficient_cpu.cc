// The memory-efficient attention kernel: each item is one panel of queries that walks its keys in chunks,
// keeping a running maximum and a running sum and rescaling what it has at every chunk. Simpler than flash:
// K and V are read anew for every panel, nothing is packed for its neighbours, a chunk that the diagonal
// crosses is masked as a whole, and keys are never split, so a few queries occupy a few workers only.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)  // as in tensor/convert.cc

#include "hunch/attention/efficient/efficient_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hunch/attention/efficient/efficient_cpu.cc"
#include "hwy/foreach_target.h"
// foreach_target.h first
#include "hunch/attention/tiles/panel-inl.h"
#include "hunch/attention/tiles/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace hunch::attention::efficient {
namespace HWY_NAMESPACE {

namespace simd = tiles::HWY_NAMESPACE;
using simd::AlignFloats;
using simd::kPanelRows;
using tiles::FusedProblem;

constexpr int64_t kChunk = 128;  // keys a chunk

int64_t PanelsPerHead(const FusedProblem& problem) { return (problem.rows() + kPanelRows - 1) / kPanelRows; }

int64_t ItemCount(const FusedProblem& problem) {
  return problem.batch * problem.kv_heads * PanelsPerHead(problem);
}

void EfficientItem(const FusedProblem& problem, int64_t item) {
  const int64_t scores_floats = AlignFloats(kChunk * kPanelRows);
  const int64_t panel_floats = AlignFloats(simd::PanelFloats(problem));
  const int64_t key_floats = AlignFloats(kChunk * problem.head_dim);
  const int64_t value_floats = AlignFloats(kChunk * problem.value_dim);
  const int64_t row_floats = AlignFloats(std::max(problem.head_dim, problem.value_dim));
  const int64_t mask_floats = simd::MaskFloats(problem, kChunk);
  float* const panel_memory = tiles::scratch_floats(static_cast<std::size_t>(
      scores_floats + panel_floats + key_floats + value_floats + row_floats + mask_floats));
  float* const scores = panel_memory + panel_floats;
  float* const key_chunk = scores + scores_floats;
  float* const value_chunk = key_chunk + key_floats;
  float* const row = value_chunk + value_floats;
  float* const mask = row + row_floats;

  // Late queries first: under a causal mask they see the most keys.
  const int64_t heads = problem.batch * problem.kv_heads;
  const int64_t head = item % heads;
  const int64_t first_row = (PanelsPerHead(problem) - 1 - item / heads) * kPanelRows;
  const int rows = static_cast<int>(std::min<int64_t>(kPanelRows, problem.rows() - first_row));
  simd::Panel panel = simd::PlacePanel(problem, panel_memory);
  simd::StartPanel(problem, head / problem.kv_heads, head % problem.kv_heads, first_row, rows, row, panel);

  const tiles::Strides4 &ks = problem.key_strides, &vs = problem.value_strides;
  const int64_t key_head = panel.batch * ks[0] + panel.kv_head * ks[1];
  const int64_t value_head = panel.batch * vs[0] + panel.kv_head * vs[1];
  const int64_t end =
      problem.causal ? std::min(problem.kv_length, panel.max_position + 1) : problem.kv_length;
  for (int64_t first = 0; first < end; first += kChunk) {
    const int64_t keys = std::min(kChunk, end - first);
    std::copy_n(panel.maxima, kPanelRows, panel.before);
    const simd::TileRows key = simd::ReadTile(problem.dtype, problem.key, key_head + first * ks[2], ks, keys,
                                              problem.head_dim, key_chunk);
    simd::Scores(panel, key.rows, key.stride, keys, problem.head_dim, scores);
    if (problem.mask.data != nullptr) simd::ApplyMask(problem, panel, first, keys, mask, scores);
    const bool crosses = problem.causal && first + keys - 1 > panel.min_position;
    if (crosses) simd::MaskCausal(scores, first, keys, kPanelRows, panel.vectors, panel.positions);
    if (crosses || problem.mask.data != nullptr) simd::RenewMaxima(panel, scores, keys);
    simd::Softmax(panel, scores, keys);
    const simd::TileRows value = simd::ReadTile(problem.dtype, problem.value, value_head + first * vs[2], vs,
                                                keys, problem.value_dim, value_chunk);
    simd::AddValues<false>(panel, scores, keys, value.rows, value.stride, problem.value_dim);
  }
  simd::FinishPanel(problem, panel, row);
}

}  // namespace HWY_NAMESPACE
}  // namespace hunch::attention::efficient
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hunch::attention::efficient {
namespace {

HWY_EXPORT(ItemCount);
HWY_EXPORT(EfficientItem);

}  // namespace

int64_t item_count(const tiles::FusedProblem& problem) { return HWY_DYNAMIC_DISPATCH(ItemCount)(problem); }

void efficient_attention(const tiles::FusedProblem& problem, base::ThreadPool& pool) {
  pool.parallel_for(item_count(problem), [&](int64_t item, int) {
    HWY_DYNAMIC_DISPATCH(EfficientItem)(problem, item);
  });
}

}  // namespace hunch::attention::efficient
#endif
