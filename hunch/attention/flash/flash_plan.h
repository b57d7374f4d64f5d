// How flash cuts a problem into work items: which rows, and which keys, one worker takes at a time.
//
// In:  the problem's sizes and the rows that a panel of the machine's vectors holds.
// Out: a plan that depends on nothing else, so results are the same with any number of threads.
#pragma once

#include "hunch/attention/tiles/fused_problem.h"

namespace hunch::attention::flash {

struct FlashPlan {
  int panel_rows = 0;          // queries a panel
  int panels_per_item = 0;     // panels that share one walk over the keys
  int64_t key_tile = 0;        // keys a tile
  int64_t items_per_head = 0;  // items of one key head, splits not counted
  int64_t splits = 1;          // parts of the key range, each an item of its own; combined at the end
  int64_t split_keys = 0;      // keys a part, a multiple of key_tile
  int64_t items = 0;           // all items of the kernel
  int64_t panels = 0;          // all panels of the kernel

  // Floats of workspace for the parts' results; 0 without splits.
  int64_t workspace_floats(const tiles::FusedProblem& problem) const;
};

FlashPlan make_plan(const tiles::FusedProblem& problem, int panel_rows);

}  // namespace hunch::attention::flash
