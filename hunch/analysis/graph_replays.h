// Which launches of a trace replay the same CUDA (or HIP) graph, and how much of each replay the trace shows.
//
// In:  a trace with its timeline. Out: a graph by launch call, where it is sure which one: by its id; in a
// trace
//      without ids only where all replays show the same work in the same order, or its beginning or end.
//      Traces without graphs cost nothing.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hunch/analysis/timeline.h"
#include "hunch/trace/trace.h"

namespace hunch::analysis {

struct Replay {
  int64_t graph = -1;  // its id; -1: not said
  uint32_t process = 0;
  std::vector<EventId> work;  // by start
};

struct ReplayedGraph {
  int64_t id = -1;               // -1: not said
  std::vector<EventId> replays;  // launch calls, by row
  std::size_t most = 0;          // device events that the fullest replay shows
};

class GraphReplays {
 public:
  GraphReplays() = default;
  GraphReplays(const trace::Trace& trace, const Timeline& timeline);

  // Null for other calls, and where it is not sure.
  const ReplayedGraph* graph_of(EventId call) const;
  const std::vector<EventId>& work_of(EventId call) const { return replays_.at(call).work; }

 private:
  std::map<EventId, Replay> replays_;  // by launch call
  std::map<std::pair<uint32_t, int64_t>, ReplayedGraph> graphs_;
};

}  // namespace hunch::analysis
