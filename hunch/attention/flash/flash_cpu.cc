// The flash kernel. Each item takes a few panels of queries through the keys that they may see, tile by tile:
// widen and pack the tile of K and V once, then for each panel scores, one step of the online softmax, and
// the weighted values added to an output that is normalised only at the end. A tile that lies wholly above
// the diagonal is never touched; one that the diagonal crosses is cut to the keys that any row of the panel
// sees, and only those beyond the first row's position go through the masking loop. Where queries are few,
// an item is one part of the keys, and a second round over the panels combines the parts.
//
// The ladder, as shares of the matrix library's f32 rate, one thread, D 64, S 2048, medians of interleaved
// runs on a Xeon with AVX-512 / held to AVX2. The machine's clock moved: two runs differ by up to 0.1.
//   1 queries on the lanes, scalar masks and bf16: f32 causal 0.87 / 0.50, bf16 0.52 / 0.22, bool 0.29 / 0.22
//   2 product groups inlined, bf16 by vectors, masks turned first: 0.89 / 0.53, 0.80 / 0.44, 0.66 / 0.37
//   3 channels on the lanes for at most 4 queries; one query: 2.0 -> 3.8 GFLOP/s in f32, 2.6 -> 4.7 in bf16
//   4 dense f32 V in place, byte masks turned in words, bf16 in place for few queries: not measured apart
// Tried in 3: key tiles of 64 and 192 instead of 128 and items of 96 and 384 queries instead of 192 are
// within the noise; key tiles of 256 are about a tenth slower under AVX2.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)  // as in tensor/convert.cc

#include "hunch/attention/flash/flash_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hunch/attention/flash/flash_cpu.cc"
#include "hwy/foreach_target.h"
// foreach_target.h first
#include "hunch/attention/flash/few_rows-inl.h"
#include "hunch/attention/tiles/panel-inl.h"
#include "hunch/attention/tiles/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace hunch::attention::flash {
namespace HWY_NAMESPACE {

namespace simd = tiles::HWY_NAMESPACE;
using simd::AlignFloats;
using simd::kPanelRows;
using simd::Panel;
using tiles::FusedProblem;

int PanelRows() { return kPanelRows; }

struct Scratch {
  float* panels = nullptr;
  float* scores = nullptr;  // [key_tile][kPanelRows]
  float* key = nullptr;     // [key_tile][head_dim]
  float* value = nullptr;   // [key_tile][value_dim], in strips where an item has several panels
  float* row = nullptr;     // one row of any of them
  float* mask = nullptr;    // a turned tile of the mask
  float* few = nullptr;     // what the walk for few rows needs
};

Scratch TakeScratch(const FusedProblem& problem, const FlashPlan& plan) {
  const int64_t panels = AlignFloats(plan.panels_per_item * simd::PanelFloats(problem));
  const int64_t scores = AlignFloats(plan.key_tile * kPanelRows);
  const int64_t key = AlignFloats(plan.key_tile * problem.head_dim);
  const int64_t value = AlignFloats(plan.key_tile * problem.value_dim);
  const int64_t row = AlignFloats(std::max(problem.head_dim, problem.value_dim));
  const int64_t mask = simd::MaskFloats(problem, plan.key_tile);
  const int64_t few_rows = few::ScratchFloats(problem, plan.key_tile);
  Scratch scratch;
  scratch.panels =
      tiles::scratch_floats(static_cast<std::size_t>(panels + scores + key + value + row + mask + few_rows));
  scratch.scores = scratch.panels + panels;
  scratch.key = scratch.scores + scores;
  scratch.value = scratch.key + key;
  scratch.row = scratch.value + value;
  scratch.mask = scratch.row + row;
  scratch.few = scratch.mask + mask;
  return scratch;
}

// The tile of V that starts at element `at`, in strips.
void PackValues(const FusedProblem& problem, int64_t at, int64_t keys, float* row, float* to) {
  const tiles::Strides4& s = problem.value_strides;
  for (int64_t key = 0; key < keys; ++key) {
    const void* const from = simd::ElementAt(problem.value, problem.dtype, at + key * s[2]);
    const float* wide = row;
    if (problem.dtype == tensor::DType::f32 && s[3] == 1) {
      wide = static_cast<const float*>(from);
    } else {
      simd::GatherRow(problem.dtype, from, s[3], problem.value_dim, row);
    }
    simd::PackStrips(wide, problem.value_dim, key, keys, to);
  }
}

// Where part `split` of panel `panel` leaves its result: [value_dim][rows] output, maxima, sums.
float* Part(const FusedProblem& problem, const FlashPlan& plan, float* workspace, int64_t panel,
            int64_t split) {
  return workspace + (panel * plan.splits + split) * (problem.value_dim + 2) * kPanelRows;
}

struct Place {
  int64_t batch = 0, kv_head = 0, first_panel = 0, panels = 0, split = 0;
  int64_t panels_per_head = 0;
};

// Items in the order in which workers take them: late queries first, for under a causal mask they see the
// most keys; within these all heads, so that workers run on different heads at the same depth.
Place PlaceItem(const FusedProblem& problem, const FlashPlan& plan, int64_t item) {
  Place place;
  const int64_t heads = problem.batch * problem.kv_heads;
  place.split = item % plan.splits;
  item /= plan.splits;
  const int64_t head = item % heads;
  place.batch = head / problem.kv_heads;
  place.kv_head = head % problem.kv_heads;
  const int64_t block = plan.items_per_head - 1 - item / heads;
  place.panels_per_head = (problem.rows() + kPanelRows - 1) / kPanelRows;
  place.first_panel = block * plan.panels_per_item;
  place.panels = std::min<int64_t>(plan.panels_per_item, place.panels_per_head - place.first_panel);
  return place;
}

// The first key that any row of the panel sees through its window; may be negative.
int64_t FirstSeen(const FusedProblem& problem, const Panel& panel) {
  return panel.min_position + 1 - problem.window;
}

float CapInLog2(const FusedProblem& problem) {
  return static_cast<float>(problem.softcap * 1.4426950408889634);
}

// Takes `count` panels of one key head through keys [begin, end): the walk of FlashAttention.
void WalkKeys(const FusedProblem& problem, const Panel* panels, int64_t count, int64_t begin, int64_t end,
              int64_t key_tile, const Scratch& scratch) {
  const tiles::Strides4 &ks = problem.key_strides, &vs = problem.value_strides;
  const int64_t key_head = panels[0].batch * ks[0] + panels[0].kv_head * ks[1];
  const int64_t value_head = panels[0].batch * vs[0] + panels[0].kv_head * vs[1];
  // Strips pay off where V must be widened anyway and several panels use them; dense floats are read in
  // place.
  const bool dense = problem.dtype == tensor::DType::f32 && vs[3] == 1 && vs[2] == problem.value_dim;
  const bool strips = count > 1 && !dense;
  for (int64_t first = begin; first < end; first += key_tile) {
    const int64_t tile = std::min(key_tile, end - first);
    const simd::TileRows key = simd::ReadTile(problem.dtype, problem.key, key_head + first * ks[2], ks, tile,
                                              problem.head_dim, scratch.key);
    const int64_t value_at = value_head + first * vs[2];
    simd::TileRows value;
    if (strips) {
      PackValues(problem, value_at, tile, scratch.row, scratch.value);
    } else {
      value =
          simd::ReadTile(problem.dtype, problem.value, value_at, vs, tile, problem.value_dim, scratch.value);
    }
    for (int64_t i = 0; i < count; ++i) {
      const Panel& panel = panels[i];
      if (problem.causal && panel.max_position < first) continue;
      if (problem.window > 0 && first + tile <= FirstSeen(problem, panel)) continue;
      const int64_t keys = problem.causal ? std::min(tile, panel.max_position + 1 - first) : tile;
      std::copy_n(panel.maxima, kPanelRows, panel.before);
      simd::Scores(panel, key.rows, key.stride, keys, problem.head_dim, scratch.scores);
      bool masked = false;
      if (problem.softcap > 0) {
        simd::CapScores(scratch.scores, keys, kPanelRows, panel.vectors, CapInLog2(problem));
        masked = true;
      }
      if (problem.mask.data != nullptr) {
        simd::ApplyMask(problem, panel, first, keys, scratch.mask, scratch.scores);
        masked = true;
      }
      if (problem.causal && first + keys - 1 > panel.min_position) {
        const int64_t clear = std::max<int64_t>(0, panel.min_position + 1 - first);  // keys that all rows see
        simd::MaskCausal(scratch.scores + clear * kPanelRows, first + clear, keys - clear, kPanelRows,
                         panel.vectors, panel.positions);
        masked = true;
      }
      if (problem.window > 0 && first <= panel.max_position - problem.window) {
        const int64_t last = std::min(keys, panel.max_position - problem.window + 1 - first);
        simd::MaskWindow(scratch.scores, first, last, kPanelRows, panel.vectors, panel.positions,
                         problem.window);
        masked = true;
      }
      if (masked) simd::RenewMaxima(panel, scratch.scores, keys);
      simd::Softmax(panel, scratch.scores, keys);
      if (strips) {
        simd::AddValues<true>(panel, scratch.scores, keys, scratch.value, tile, problem.value_dim);
      } else {
        simd::AddValues<false>(panel, scratch.scores, keys, value.rows, value.stride, problem.value_dim);
      }
    }
  }
}

void FlashItem(const FusedProblem& problem, const FlashPlan& plan, float* workspace, int64_t item) {
  const Place place = PlaceItem(problem, plan, item);
  const Scratch scratch = TakeScratch(problem, plan);
  const int64_t panel_floats = simd::PanelFloats(problem);
  const auto panel_at = [&](int64_t i) {
    return simd::PlacePanel(problem, scratch.panels + i * panel_floats);
  };

  // Panels live in scratch memory; their few scalars are found again from the row.
  constexpr int kMaxPanels = 64;
  Panel panels[kMaxPanels];
  HUNCH_CHECK(place.panels <= kMaxPanels);
  int64_t end = 0;
  for (int64_t i = 0; i < place.panels; ++i) {
    panels[i] = panel_at(i);
    const int64_t first_row = (place.first_panel + i) * kPanelRows;
    const int rows = static_cast<int>(std::min<int64_t>(kPanelRows, problem.rows() - first_row));
    simd::StartPanel(problem, place.batch, place.kv_head, first_row, rows, scratch.row, panels[i]);
    end = std::max(end, problem.causal ? panels[i].max_position + 1 : problem.kv_length);
  }
  int64_t begin = place.split * plan.split_keys;
  if (problem.window > 0) {  // whole tiles that even the first query has left behind
    const int64_t unseen = FirstSeen(problem, panels[0]) - begin;
    if (unseen > 0) begin += unseen / plan.key_tile * plan.key_tile;
  }
  end = std::min(
      {end, problem.kv_length, plan.splits == 1 ? problem.kv_length : (place.split + 1) * plan.split_keys});

  if (problem.rows() <= few::kFewRows) {
    few::WalkFewRows(problem, panels[0], begin, end, plan.key_tile, scratch.few, scratch.key, scratch.value);
  } else {
    WalkKeys(problem, panels, place.panels, begin, end, plan.key_tile, scratch);
  }

  for (int64_t i = 0; i < place.panels; ++i) {
    if (plan.splits == 1) {
      simd::FinishPanel(problem, panels[i], scratch.row);
      continue;
    }
    const int64_t index =
        (place.batch * problem.kv_heads + place.kv_head) * place.panels_per_head + place.first_panel + i;
    float* const part = Part(problem, plan, workspace, index, place.split);
    std::copy_n(panels[i].out, problem.value_dim * kPanelRows, part);
    std::copy_n(panels[i].maxima, kPanelRows, part + problem.value_dim * kPanelRows);
    std::copy_n(panels[i].sums, kPanelRows, part + (problem.value_dim + 1) * kPanelRows);
  }
}

// Joins the parts of one panel, in order, and writes its rows.
void CombinePanel(const FusedProblem& problem, const FlashPlan& plan, float* workspace, int64_t index) {
  const Scratch scratch = TakeScratch(problem, plan);
  Panel panel = simd::PlacePanel(problem, scratch.panels);
  const int64_t per_head = (problem.rows() + kPanelRows - 1) / kPanelRows;
  panel.batch = index / per_head / problem.kv_heads;
  panel.kv_head = index / per_head % problem.kv_heads;
  panel.first_row = index % per_head * kPanelRows;
  panel.rows = static_cast<int>(std::min<int64_t>(kPanelRows, problem.rows() - panel.first_row));
  const int64_t size = problem.value_dim * kPanelRows;
  std::fill_n(panel.maxima, kPanelRows, simd::kNegativeInfinity);
  std::fill_n(panel.sums, kPanelRows, 0.0f);
  std::fill_n(panel.out, size, 0.0f);
  for (int64_t split = 0; split < plan.splits; ++split)
    simd::RaiseMaxima(Part(problem, plan, workspace, index, split) + size, 1, kPanelRows, simd::kPanelVectors,
                      panel.maxima);
  for (int64_t split = 0; split < plan.splits; ++split) {
    const float* const part = Part(problem, plan, workspace, index, split);
    simd::AddPart(part, part + size, part + size + kPanelRows, problem.value_dim, panel);
  }
  simd::FinishPanel(problem, panel, scratch.row);
}

}  // namespace HWY_NAMESPACE
}  // namespace hunch::attention::flash
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hunch::attention::flash {
namespace {

HWY_EXPORT(PanelRows);
HWY_EXPORT(FlashItem);
HWY_EXPORT(CombinePanel);

}  // namespace

int panel_rows() { return HWY_DYNAMIC_DISPATCH(PanelRows)(); }

void flash_attention(const tiles::FusedProblem& problem, const FlashPlan& plan, float* workspace,
                     base::ThreadPool& pool) {
  pool.parallel_for(plan.items, [&](int64_t item, int) {
    HWY_DYNAMIC_DISPATCH(FlashItem)(problem, plan, workspace, item);
  });
  if (plan.splits == 1) return;
  pool.parallel_for(plan.panels, [&](int64_t panel, int) {
    HWY_DYNAMIC_DISPATCH(CombinePanel)(problem, plan, workspace, panel);
  });
}

}  // namespace hunch::attention::flash
#endif
