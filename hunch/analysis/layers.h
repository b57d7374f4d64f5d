// The layers inside one run of a forward: its repeated inner bodies, and what lies before, between and after.
//
// By the frames of modules, where there are any: the outermost modules that have siblings of their class
// under the same parent ("LlamaDecoderLayer_0" to "_7") and launched most of what the run's modules launched;
// other work goes by the module beside them that launched it ("Embedding_0"), or is "outside of modules" (a
// backward). Else by repetition in the run's own sequence (repetition.h): "before layers", "layer 1 of 8",
// ..., "after layers". Never cut: work in a replayed graph keeps the order of the device. Every piece of work
// of the run is in one row, so rows add up to the run. Rows come in order of first work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis {

enum class LayerSource { module, repetition, none };
std::string_view name_of(LayerSource source);  // "module", "repetition", "none"

struct Layer {
  std::string name;
  bool is_layer = false;  // one of the repeated bodies; else what lies beside them
  std::vector<EventId> work;
  Ns device_ns = 0;  // sum of durations
};

struct Layers {
  LayerSource source = LayerSource::none;  // none: no repeated body found, and no rows
  std::vector<Layer> rows;
};

// O(work * depth of the Python stacks + n log n).
Layers find_layers(const Analysis& analysis, const ForwardRun& run);

}  // namespace hunch::analysis
