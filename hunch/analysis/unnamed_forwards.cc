// Repetition a device, then replays; and where on the host each run lies. See unnamed_forwards.h.
#include "hunch/analysis/unnamed_forwards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "hunch/analysis/work_sequence.h"
#include "hunch/base/strings.h"

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

// An embedding at most this many device events before the first body belongs to the same forward.
constexpr std::size_t kNearEmbedding = 100;

std::string kernels_text(int64_t kernels) {
  return fmt::format("{} kernel{}", kernels, kernels == 1 ? "" : "s");
}

class Finder {
 public:
  Finder(const Trace& trace, const Timeline& timeline, const Processes& processes)
      : trace_(trace), timeline_(timeline), processes_(processes) {
    is_embedding_.resize(trace.strings.size());
    is_engine_.resize(trace.strings.size());
    for (trace::StringId id = 0; id < trace.strings.size(); ++id) {
      const std::string_view name = trace.strings.view(id);
      is_embedding_[id] = base::contains(name, "embedding") || base::contains(name, "indexSelect") ||
                          base::contains(name, "vectorized_gather_kernel");
      is_engine_[id] = name.starts_with("autograd::engine::evaluate_function");
    }
  }

  std::vector<Forward> find(const std::vector<EventId>& work) const {
    std::map<std::pair<uint32_t, int32_t>, std::vector<EventId>> by_device;
    for (const EventId event : work) {
      const auto* detail = trace_.device_detail(event);
      by_device[{processes_.of_track[trace_.track[event]], detail == nullptr ? -1 : detail->device}]
          .push_back(event);
    }
    std::vector<Forward> forwards;
    std::size_t covered = 0;
    for (const auto& [device, of_device] : by_device) {
      auto forward = find_repetition_of(of_device);
      if (!forward) continue;
      for (const ForwardRun& run : forward->runs) covered += run.work.size();
      if (by_device.size() > 1) forward->range += fmt::format(" on device {}", device.second);
      forwards.push_back(std::move(*forward));
    }
    if (2 * covered <= work.size()) forwards = find_replays(work);
    const auto start = [this](const Forward& forward) { return trace_.start[forward.runs[0].work[0]]; };
    std::stable_sort(forwards.begin(), forwards.end(),
                     [&](const Forward& a, const Forward& b) { return start(a) < start(b); });
    return forwards;
  }

 private:
  std::optional<Forward> find_repetition_of(const std::vector<EventId>& work) const {
    const WorkSequence sequence(trace_, timeline_, work);
    const auto& items = sequence.items();
    // How many items up to there look up an embedding, and how many the engine launched.
    std::vector<std::size_t> embeddings(1, 0), backward(1, 0);
    std::vector<std::size_t> last_embedding(1, 0);  // 1 + the work's place; 0: none
    for (const Item& item : items) {
      bool embeds = is_embedding_[trace_.name[work[item.begin]]], engine = false;
      for (EventId at = item.call; at != kNone; at = timeline_.parent[at]) {
        if (trace_.kind[at] != EventKind::op) continue;
        embeds = embeds || is_embedding_[trace_.name[at]];
        engine = engine || is_engine_[trace_.name[at]];
      }
      embeddings.push_back(embeddings.back() + (embeds ? 1 : 0));
      backward.push_back(backward.back() + (engine ? 1 : 0));
      last_embedding.push_back(embeds ? item.begin + 1 : last_embedding.back());
    }
    const auto found = sequence.find_bodies([&](std::size_t first, std::size_t body_end, std::size_t) {
      if (backward[body_end] - backward[first] == body_end - first) return false;
      return embeddings[body_end] > embeddings[first] || last_embedding[first] == 0 ||
             items[first].begin + 1 - last_embedding[first] > kNearEmbedding;
    });
    if (!found) return std::nullopt;

    const auto is_replay = [&](const Bodies::Body& body) {
      return body.end - body.begin == 1 && items[body.begin].size() > 1 &&
             is_graph_launch(items[body.begin].call);
    };
    Forward forward;
    const bool replays = std::all_of(found->bodies.begin(), found->bodies.end(), is_replay);
    forward.source = replays ? ForwardSource::graph_replay : ForwardSource::repetition;
    forward.range = (replays ? "graph replay of " : "repetition of ") + kernels_text(found->kernels);
    for (const Bodies::Body& body : found->bodies) {
      const auto of_body = sequence.work_of(body.begin, body.end);
      const EventId before = body.begin == 0 ? kNone : items[body.begin - 1].call;
      const EventId after = body.end == items.size() ? kNone : items[body.end].call;
      forward.runs.push_back(make_run({of_body.begin(), of_body.end()}, before, after));
    }
    return forward;
  }

  std::vector<Forward> find_replays(const std::vector<EventId>& work) const {
    const WorkSequence sequence(trace_, timeline_, work);
    const auto& items = sequence.items();
    std::vector<Forward> forwards;
    std::map<uint32_t, std::size_t> by_symbol;
    std::size_t covered = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      if (item.kernels == 0 || item.size() < 2 || !is_graph_launch(item.call)) continue;
      covered += item.size();
      const auto [at, added] = by_symbol.emplace(item.symbol, forwards.size());
      if (added) {
        Forward& forward = forwards.emplace_back();
        forward.source = ForwardSource::graph_replay;
        forward.range = "graph replay of " + kernels_text(item.kernels);
        const auto same = std::count_if(forwards.begin(), forwards.end(), [&](const Forward& other) {
          return other.range == forward.range || other.range.starts_with(forward.range + " (");
        });
        if (same > 1) forward.range += fmt::format(" ({})", same);
      }
      const auto of_item = sequence.work_of(i, i + 1);
      forwards[at->second].runs.push_back(make_run({of_item.begin(), of_item.end()},
                                                   i == 0 ? kNone : items[i - 1].call,
                                                   i + 1 == items.size() ? kNone : items[i + 1].call));
    }
    if (2 * covered <= work.size()) forwards.clear();
    return forwards;
  }

  bool is_graph_launch(EventId call) const {
    return call != kNone && base::contains(trace_.name_of(call), "GraphLaunch");
  }

  // `before` and `after`: the launches next to the run's own; its window reaches neither.
  ForwardRun make_run(std::vector<EventId> work, EventId before, EventId after) const {
    ForwardRun run;
    EventId first = kNone, last = kNone;
    bool one_thread = true;
    Ns device_start = INT64_MAX, device_end = INT64_MIN;
    for (const EventId event : work) {
      device_start = std::min(device_start, trace_.start[event]);
      device_end = std::max(device_end, trace_.end(event));
      const EventId call = timeline_.launch[event];
      if (call == kNone) continue;
      one_thread = one_thread && (first == kNone || trace_.track[first] == trace_.track[call]);
      if (first == kNone) first = call;
      if (last == kNone || trace_.end(call) > trace_.end(last)) last = call;
    }
    run.work = std::move(work);
    if (first == kNone) {
      run.host_start = device_start;
      run.host_end = device_end;
      return run;
    }
    if (one_thread) run.host_track = trace_.track[first];
    run.host_start = trace_.start[first];
    run.host_end = trace_.end(last);
    for (EventId at = timeline_.parent[first]; at != kNone; at = timeline_.parent[at])
      if (trace_.kind[at] == EventKind::op && (before == kNone || trace_.start[at] >= trace_.end(before)))
        run.host_start = std::min(run.host_start, trace_.start[at]);
    for (EventId at = timeline_.parent[last]; at != kNone; at = timeline_.parent[at])
      if (trace_.kind[at] == EventKind::op && (after == kNone || trace_.end(at) <= trace_.start[after]))
        run.host_end = std::max(run.host_end, trace_.end(at));
    run.host_ns = run.host_end - run.host_start;
    return run;
  }

  const Trace& trace_;
  const Timeline& timeline_;
  const Processes& processes_;
  std::vector<bool> is_embedding_, is_engine_;  // by StringId
};

}  // namespace

std::vector<Forward> find_unnamed_forwards(const Trace& trace, const Timeline& timeline,
                                           const Processes& processes, const std::vector<EventId>& work) {
  return Finder(trace, timeline, processes).find(work);
}

}  // namespace hunch::analysis
