// graph_incomplete: replays of one graph of which the trace shows less than of others.
//
// A graph launches the same work in every replay, so where a replay shows less than the fullest one, the
// profiler lost some, and the device looks idle while it works. Fires in forwards with replays of such a
// graph. Silent where replays may be of several graphs (graph_replays.h). Costs no time.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/rules/evidence.h"

namespace hunch::analysis::rules {
namespace {

class GraphIncomplete final : public Rule {
 public:
  std::string_view id() const override { return "graph_incomplete"; }
  std::string_view summary() const override { return "replays of a graph that the trace shows only in part"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    std::vector<const ReplayedGraph*> graphs;  // each once, in order of launch
    EventId last = kNone;
    for (const ForwardRun& run : forward.runs)
      for (const EventId work : run.work) {
        const EventId call = analysis.timeline.launch[work];
        if (call == last || call == kNone) continue;
        last = call;
        const ReplayedGraph* graph = analysis.graphs.graph_of(call);
        if (graph != nullptr && std::find(graphs.begin(), graphs.end(), graph) == graphs.end())
          graphs.push_back(graph);
      }
    std::vector<Finding> findings;
    for (const ReplayedGraph* graph : graphs)
      if (auto found = finding(analysis, forward, *graph)) findings.push_back(std::move(*found));
    return findings;
  }

 private:
  std::optional<Finding> finding(const Analysis& analysis, const Forward& forward,
                                 const ReplayedGraph& graph) const {
    std::vector<EventId> partial;
    std::size_t least = graph.most;
    for (const EventId call : graph.replays) {
      const std::size_t shown = analysis.graphs.work_of(call).size();
      if (shown == graph.most) continue;
      partial.push_back(call);
      least = std::min(least, shown);
    }
    if (partial.empty()) return std::nullopt;
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim =
        fmt::format("{} of the trace's {} replays of one graph show{} {} {} of its {} device events",
                    partial.size(), graph.replays.size(), partial.size() == 1 ? "s" : "",
                    partial.size() == 1 ? "only" : "as few as", least, graph.most);
    finding.cause = fmt::format(
        "a graph launches the same in every replay ({}), so the profiler lost the rest: the device looks "
        "idle "
        "there and was not",
        graph.id >= 0 ? fmt::format("all are of graph {}; only conditional nodes could launch less", graph.id)
                      : "each shows the same work in the same order, or its beginning or end");
    finding.advice =
        "do not trust idle time, counts and device time of these replays; record fewer steps at a time, or a "
        "run without the graph";
    finding.events = analysis.graphs.work_of(partial.front());
    return finding;
  }
};

}  // namespace

const Rule& graph_incomplete() {
  static const GraphIncomplete rule;
  return rule;
}

}  // namespace hunch::analysis::rules
