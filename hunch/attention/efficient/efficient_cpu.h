// The memory-efficient attention kernel for the CPU, on plain pointers.
#pragma once

#include "hunch/attention/tiles/fused_problem.h"
#include "hunch/base/thread_pool.h"

namespace hunch::attention::efficient {

// Work items of the problem: one a panel of queries.
int64_t item_count(const tiles::FusedProblem& problem);

// Computes out and lse over the pool's workers.
void efficient_attention(const tiles::FusedProblem& problem, base::ThreadPool& pool);

}  // namespace hunch::attention::efficient
