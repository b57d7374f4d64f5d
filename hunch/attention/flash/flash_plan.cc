#include "hunch/attention/flash/flash_plan.h"

#include <algorithm>

namespace hunch::attention::flash {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Keys a tile: scores of a panel stay in the first-level cache beside a strip of V.
constexpr int64_t kKeyTile = 128;
// Queries that share one packed tile of K and V; more would push the panels out of the second-level cache.
constexpr int64_t kItemBytes = 160 * 1024;
constexpr int64_t kItemRows = 192;
// Enough items that the last ones to finish do not leave the other workers idle for long.
constexpr int64_t kEnoughItems = 64;
// A part of the keys shorter than this costs more to combine than it gains.
constexpr int64_t kLeastSplitKeys = 512;

}  // namespace

int64_t FlashPlan::workspace_floats(const tiles::FusedProblem& problem) const {
  return splits == 1 ? 0 : panels * splits * (problem.value_dim + 2) * panel_rows;
}

FlashPlan make_plan(const tiles::FusedProblem& problem, int panel_rows) {
  FlashPlan plan;
  plan.panel_rows = panel_rows;
  plan.key_tile = kKeyTile;
  const int64_t heads = problem.batch * problem.kv_heads;
  const int64_t panels_per_head = ceil_div(problem.rows(), panel_rows);
  const int64_t row_bytes = (problem.head_dim + problem.value_dim) * static_cast<int64_t>(sizeof(float));
  const int64_t rows = std::min(kItemRows, kItemBytes / row_bytes);
  int64_t panels = std::clamp<int64_t>(rows / panel_rows, 1, std::max<int64_t>(panels_per_head, 1));
  while (panels > 1 && heads * ceil_div(panels_per_head, panels) < kEnoughItems) --panels;
  plan.panels_per_item = static_cast<int>(panels);
  plan.items_per_head = ceil_div(panels_per_head, panels);
  plan.panels = heads * panels_per_head;

  const int64_t items = heads * plan.items_per_head;
  const int64_t reach = problem.causal ? std::min(problem.kv_length, problem.length) : problem.kv_length;
  int64_t splits = 1;
  if (items > 0 && items < kEnoughItems / 2)
    splits = std::clamp<int64_t>(reach / kLeastSplitKeys, 1, ceil_div(kEnoughItems, items));
  plan.split_keys = std::max<int64_t>(ceil_div(ceil_div(reach, splits), kKeyTile), 1) * kKeyTile;
  plan.splits = std::max<int64_t>(ceil_div(reach, plan.split_keys), 1);
  plan.items = items * plan.splits;
  return plan;
}

}  // namespace hunch::attention::flash
