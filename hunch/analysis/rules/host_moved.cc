// host_moved: one opaque op takes most of a forward's host time by itself, as when a library chooses its
// plan.
//
// Fires on an attention op that spends at least half of the forward's host time outside of its child ops and
// calls. Silent on time that children or calls explain, and under 100 us.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "hunch/analysis/attention_ops.h"
#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

constexpr double kLeastSharePct = 50.0;
constexpr Ns kLeastTime = 100'000;

class HostMoved final : public Rule {
 public:
  std::string_view id() const override { return "host_moved"; }
  std::string_view summary() const override { return "host time inside one opaque op"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    const trace::Trace& trace = *analysis.trace;
    const Ns host = median_host_ns(forward);
    const auto is_little = [host](Ns time) {
      return time < kLeastTime || share_pct(time, host) < kLeastSharePct;
    };
    std::vector<Finding> findings;
    for (auto& [name, runs] : attention_ops(analysis, forward)) {
      // What children take is looked for only where the ops themselves take long.
      std::vector<int64_t> times;
      for (const auto& run : runs) times.push_back(time_of(trace, run));
      if (is_little(median(times))) continue;
      const auto inside = time_inside(analysis, runs);
      for (std::size_t r = 0; r < runs.size(); ++r) {
        for (const EventId op : runs[r]) times[r] -= inside.at(op);
      }
      const Ns self = median(times);
      if (is_little(self)) continue;
      Finding finding;
      finding.rule = id();
      finding.range = forward.range;
      finding.claim =
          fmt::format("{} spends {} of host time per forward in itself ({} of {})", code(name),
                      base::format_ns(self), percent_text(share_pct(self, host)), base::format_ns(host));
      finding.cause =
          "no child op and no call explains that time: the library works on the host there, as when it "
          "chooses or builds a plan for the "
          "shapes at hand";
      finding.advice =
          "keep shapes the same, so that a plan is found and not built; where the device waits for it, pin a "
          "backend that has no plans";
      finding.cost_ns = self;
      for (const auto& run : runs) {
        if (finding.events.empty()) finding.events = run;
      }
      findings.push_back(std::move(finding));
    }
    return findings;
  }

 private:
  using OpsOfRuns = std::vector<std::vector<EventId>>;  // in order of their rows

  // The innermost attention ops that launched work in more than half of the runs, by name and run.
  static std::map<std::string_view, OpsOfRuns> attention_ops(const Analysis& analysis,
                                                             const Forward& forward) {
    const OpChains& chains = analysis.chains;
    std::map<std::string_view, Gathered> by_name;
    // An op that launched for several runs counts for the first.
    std::unordered_set<EventId> counted;
    Memo ops_of_chain(chains.size(), [&](uint32_t chain) -> Gathered* {
      const auto names = chains.names(chain);
      if (names.empty()) return nullptr;
      const std::string_view name = analysis.trace->strings.view(names.back());
      if (attention_backend_of_op(name).empty()) return nullptr;
      return &by_name[name];
    });
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      for (const EventId event : forward.runs[r].work) {
        Gathered* ops = ops_of_chain(chains.of(event));
        if (ops == nullptr) continue;
        const EventId op = launching_op(*analysis.trace, analysis.timeline, event);
        if (counted.insert(op).second) ops->add(r, op);
      }
    }
    std::map<std::string_view, OpsOfRuns> in_most;
    for (const auto& [name, ops] : by_name) {
      if (!ops.in_most(forward.runs.size())) continue;
      OpsOfRuns& runs = in_most[name] = ops.of_runs(forward.runs.size()).runs;
      for (auto& run : runs) std::sort(run.begin(), run.end());
    }
    return in_most;
  }

  static Ns time_of(const trace::Trace& trace, const std::vector<EventId>& ops) {
    Ns time = 0;
    for (const EventId op : ops) time += trace.duration[op];
    return time;
  }

  // Time of direct children, by op.
  static std::unordered_map<EventId, Ns> time_inside(const Analysis& analysis, const OpsOfRuns& runs) {
    std::unordered_map<EventId, Ns> inside;
    std::vector<bool> is_asked(analysis.trace->size());  // most events are no child of these ops
    for (const auto& run : runs) {
      for (const EventId op : run) inside.emplace(op, 0), is_asked[op] = true;
    }
    for (EventId event = 0; event < analysis.trace->size(); ++event) {
      const EventId parent = analysis.timeline.parent[event];
      if (parent != kNone && is_asked[parent]) inside[parent] += analysis.trace->duration[event];
    }
    return inside;
  }
};

}  // namespace

const Rule& host_moved() {
  static const HostMoved rule;
  return rule;
}

}  // namespace hunch::analysis::rules
