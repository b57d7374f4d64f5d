// What a step is, on either side: facts that changed, and sizes that did.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/diff/diff.h"
#include "hunch/analysis/diff/steps.h"

namespace hunch::analysis::diff {

// An op without its namespace: "masked_fill_" of "aten::masked_fill_".
std::string_view bare(std::string_view op);

// "kernel", "backend", "dtype", "tensor cores", "op": told on both sides, and not the same. A name that says
// "16-bit" does not differ from one that says which 16-bit type.
std::vector<FactChange> fact_changes(const Analysis& before, EventId before_event, const Analysis& after,
                                     EventId after_event);

// Whether the two did different work: the inputs' shapes where the traces have them; else the grids of the
// same kernels.
std::vector<std::string> size_warnings(const Steps& before, const Steps& after,
                                       const std::vector<Pair>& pairs);

}  // namespace hunch::analysis::diff
