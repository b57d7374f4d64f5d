#include "hunch/analysis/graph_replays.h"

#include <algorithm>

#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

using trace::Trace;

std::map<EventId, Replay> find_replays(const Trace& trace, const Timeline& timeline) {
  std::vector<bool> launches_graph(trace.strings.size(), false);
  bool any = false;
  for (trace::StringId id = 0; id < trace.strings.size(); ++id) {
    launches_graph[id] = base::contains(trace.strings.view(id), "GraphLaunch");
    any = any || launches_graph[id];
  }
  std::map<EventId, Replay> replays;
  if (!any) return replays;
  const Processes processes = number_processes(trace);
  EventId last = kNone;
  Replay* replay = nullptr;  // of `last`: neighbours are mostly of one launch
  for (const EventId work : timeline.device_order) {
    const EventId call = timeline.launch[work];
    if (call == kNone || !launches_graph[trace.name[call]]) continue;
    if (call != last) replay = &replays[last = call];
    replay->process = processes.of_track[trace.track[call]];
    if (const auto* detail = trace.device_detail(work); detail != nullptr && detail->graph_id >= 0)
      replay->graph = detail->graph_id;
    replay->work.push_back(work);
  }
  return replays;
}

// Whether `part` shows what the first or the last of `whole` are, by name.
bool is_one_end_of(const Trace& trace, const Replay& part, const Replay& whole) {
  const auto same = [&trace](EventId a, EventId b) { return trace.name[a] == trace.name[b]; };
  return std::equal(part.work.begin(), part.work.end(), whole.work.begin(), same) ||
         std::equal(part.work.rbegin(), part.work.rend(), whole.work.rbegin(), same);
}

// Whether all replays, none of which says its graph, can only be of one.
bool are_of_one_graph(const Trace& trace, const std::map<EventId, Replay>& replays) {
  const auto fullest = std::max_element(replays.begin(), replays.end(), [](const auto& a, const auto& b) {
    return a.second.work.size() < b.second.work.size();
  });
  return std::all_of(replays.begin(), replays.end(), [&](const auto& each) {
    return each.second.graph < 0 && each.second.process == fullest->second.process &&
           is_one_end_of(trace, each.second, fullest->second);
  });
}

}  // namespace

GraphReplays::GraphReplays(const Trace& trace, const Timeline& timeline)
    : replays_(find_replays(trace, timeline)) {
  const bool said =
      std::all_of(replays_.begin(), replays_.end(), [](const auto& each) { return each.second.graph >= 0; });
  if (!said && !are_of_one_graph(trace, replays_)) return;
  for (const auto& [call, replay] : replays_) {
    ReplayedGraph& graph = graphs_[{replay.process, replay.graph}];
    graph.id = replay.graph;
    graph.replays.push_back(call);
    graph.most = std::max(graph.most, replay.work.size());
  }
}

const ReplayedGraph* GraphReplays::graph_of(EventId call) const {
  const auto replay = replays_.find(call);
  if (replay == replays_.end()) return nullptr;
  const auto graph = graphs_.find({replay->second.process, replay->second.graph});
  return graph == graphs_.end() ? nullptr : &graph->second;
}

}  // namespace hunch::analysis
