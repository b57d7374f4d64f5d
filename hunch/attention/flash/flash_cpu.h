// The flash kernel for the CPU, on plain pointers.
#pragma once

#include "hunch/attention/flash/flash_plan.h"
#include "hunch/attention/tiles/fused_problem.h"
#include "hunch/base/thread_pool.h"

namespace hunch::attention::flash {

// Rows of a panel with the instruction set in use: what make_plan needs.
int panel_rows();

// Computes out and lse over the pool's workers. `workspace`: plan.workspace_floats(), aligned to 64 bytes.
void flash_attention(const tiles::FusedProblem& problem, const FlashPlan& plan, float* workspace,
                     base::ThreadPool& pool);

}  // namespace hunch::attention::flash
