// A tree of modules with what each launched, cut at the level that repeats; see layers.h.
#include "hunch/analysis/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "hunch/analysis/module_ranges.h"
#include "hunch/analysis/work_sequence.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::StringId;
using trace::Trace;

// "LlamaDecoderLayer" of "LlamaDecoderLayer_12".
std::string_view class_of(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size() || name[last] != '_') return name;
  return name.substr(0, last);
}

// Calls of one module under the same parents are one node; node 0 stands for the run itself.
class ModuleTree {
 public:
  ModuleTree(const Analysis& analysis, const ForwardRun& run, std::vector<bool> is_module)
      : trace_(*analysis.trace), is_module_(std::move(is_module)), nodes_(1) {
    std::vector<StringId> path;
    for (const EventId work : run.work) {
      path.clear();
      for (EventId at = analysis.timeline.launch[work]; at != kNone && at != run.range;
           at = analysis.timeline.parent[at])
        if (trace_.kind[at] == EventKind::python_frame && is_module_[trace_.name[at]])
          path.push_back(trace_.name[at]);
      std::size_t node = 0;
      for (auto name = path.rbegin(); name != path.rend(); ++name) {
        node = child(node, *name);
        ++nodes_[node].work;
      }
      node_of_work_.push_back(node);
      if (node != 0) ++nodes_[0].work;
    }
  }

  // Rows where some level repeats; else none.
  std::vector<Layer> rows(const ForwardRun& run) {
    if (!find_layers()) return {};
    std::vector<Layer> rows;
    std::map<std::pair<std::size_t, bool>, std::size_t> row_of;  // of a node; of its own work on the spine
    for (std::size_t i = 0; i < run.work.size(); ++i) {
      std::size_t node = node_of_work_[i];
      const bool own = nodes_[node].on_spine;
      while (!own && !nodes_[nodes_[node].parent].on_spine) node = nodes_[node].parent;
      const auto [at, added] = row_of.emplace(std::pair(node, own), rows.size());
      if (added) {
        Layer& row = rows.emplace_back();
        row.is_layer = nodes_[node].is_layer;
        row.name =
            node == 0 ? "outside of modules" : fmt::format("{}{}", name_of(node), own ? " itself" : "");
      }
      rows[at->second].work.push_back(run.work[i]);
    }
    return rows;
  }

 private:
  struct Node {
    std::size_t parent = 0;
    StringId name = 0;
    std::size_t work = 0;  // launched inside, children included
    std::map<StringId, std::size_t> children;
    bool on_spine = false;  // the layers' parent, its own parents, and the run
    bool is_layer = false;
  };

  std::size_t child(std::size_t node, StringId name) {
    const auto [at, added] = nodes_[node].children.emplace(name, nodes_.size());
    const std::size_t id = at->second;
    if (added) {
      nodes_.emplace_back();
      nodes_.back().parent = node;
      nodes_.back().name = name;
    }
    return id;
  }

  std::string_view name_of(std::size_t node) const {
    return trace_.strings.view(nodes_[node].name).substr(kModulePrefix.size());
  }

  // Down from the run, along the modules that launched more than half of all, to the first whose children of
  // one class did so together.
  bool find_layers() {
    const std::size_t all = nodes_[0].work;
    std::size_t node = 0;
    while (true) {
      nodes_[node].on_spine = true;
      std::map<std::string_view, std::pair<std::size_t, std::size_t>> classes;  // modules, work
      std::size_t next = 0;
      for (const auto& [name, id] : nodes_[node].children) {
        auto& [modules, work] = classes[class_of(name_of(id))];
        ++modules;
        work += nodes_[id].work;
        if (2 * nodes_[id].work > all) next = id;
      }
      for (const auto& [name, size] : classes) {
        if (size.first < 2 || 2 * size.second <= all) continue;
        for (const auto& [child_name, id] : nodes_[node].children)
          nodes_[id].is_layer = class_of(name_of(id)) == name;
        return true;
      }
      if (next == 0) return false;
      node = next;
    }
  }

  const Trace& trace_;
  const std::vector<bool> is_module_;  // by StringId
  std::vector<Node> nodes_;
  std::vector<std::size_t> node_of_work_;  // beside the run's work: its innermost module
};

std::vector<Layer> rows_by_repetition(const Analysis& analysis, const ForwardRun& run) {
  const WorkSequence sequence(*analysis.trace, analysis.timeline, run.work, false);
  const auto found = sequence.find_bodies([](std::size_t, std::size_t, std::size_t) { return true; });
  if (!found) return {};
  std::vector<Layer> rows;
  const auto add = [&](std::string name, bool is_layer, std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    const auto work = sequence.work_of(begin, end);
    Layer& row = rows.emplace_back();
    row.name = std::move(name);
    row.is_layer = is_layer;
    row.work.assign(work.begin(), work.end());
  };
  const auto& bodies = found->bodies;
  add("before layers", false, 0, bodies.front().begin);
  for (std::size_t i = 0; i < bodies.size(); ++i)
    add(fmt::format("layer {} of {}", i + 1, bodies.size()), true, bodies[i].begin, bodies[i].end);
  add("after layers", false, bodies.back().end, sequence.items().size());
  return rows;
}

}  // namespace

std::string_view name_of(LayerSource source) {
  switch (source) {
    case LayerSource::module:
      return "module";
    case LayerSource::repetition:
      return "repetition";
    case LayerSource::none:
      break;
  }
  return "none";
}

Layers find_layers(const Analysis& analysis, const ForwardRun& run) {
  Layers layers;
  std::vector<bool> is_module = module_names(*analysis.trace);
  if (!is_module.empty()) {
    layers.source = LayerSource::module;
    layers.rows = ModuleTree(analysis, run, std::move(is_module)).rows(run);
  }
  if (layers.rows.empty()) {
    layers.source = LayerSource::repetition;
    layers.rows = rows_by_repetition(analysis, run);
  }
  if (layers.rows.empty()) layers.source = LayerSource::none;
  for (Layer& row : layers.rows)
    for (const EventId work : row.work) row.device_ns += analysis.trace->duration[work];
  return layers;
}

}  // namespace hunch::analysis
