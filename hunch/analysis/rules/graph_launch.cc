// graph_launch: many kernels on one launch call, because a recorded graph was replayed.
//
// Fires on device work whose launch call launches a graph (cudaGraphLaunch, hipGraphLaunch). Such work has no
// op of its own: ops and shapes around it were recorded when the graph was captured, not now. Costs no time.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::rules {
namespace {

class GraphLaunch final : public Rule {
 public:
  std::string_view id() const override { return "graph_launch"; }
  std::string_view summary() const override {
    return "kernels replayed from a graph have no op of their own";
  }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    const trace::Trace& trace = *analysis.trace;
    trace::StringId last_name = kNone;  // neighbours are launched by calls of one name
    bool is_graph_launch = false;
    const Selection selection = select(forward, [&](EventId event) {
      const EventId call = analysis.timeline.launch[event];
      if (call == kNone) return false;
      if (trace.name[call] != last_name) {
        last_name = trace.name[call];
        is_graph_launch = base::contains(trace.name_of(call), "GraphLaunch");
      }
      return is_graph_launch;
    });
    const int64_t count = median_count(selection);
    if (count == 0) return {};
    std::vector<int64_t> launches;
    for (const auto& run : selection.runs) {
      std::set<EventId> calls;
      for (const EventId event : run) calls.insert(analysis.timeline.launch[event]);
      launches.push_back(static_cast<int64_t>(calls.size()));
    }
    const int64_t replays = median(launches);
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.events = selection.evidence();
    finding.claim = fmt::format("{} device events per forward come from {} graph launch{}, {}", count,
                                replays, replays == 1 ? "" : "es", cost_text(analysis, forward, selection));
    finding.cause = fmt::format("{} replays what was captured before: one call, and no op around each kernel",
                                code(trace.name_of(analysis.timeline.launch[finding.events.front()])));
    finding.advice =
        "tell kernels by their names here; for ops, shapes and Python frames record a run without the graph";
    return {finding};
  }
};

}  // namespace

const Rule& graph_launch() {
  static const GraphLaunch rule;
  return rule;
}

}  // namespace hunch::analysis::rules
