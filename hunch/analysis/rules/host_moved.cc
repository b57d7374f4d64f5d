// host_moved: one opaque op takes most of a forward's host time by itself, as when a library chooses its
// plan.
//
// Fires on an attention op that spends at least half of the forward's host time outside of its child ops and
// calls. Silent on time that children or calls explain, and under 100 us.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

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
    // The innermost attention ops that launched work, with their run.
    std::unordered_map<EventId, std::size_t> run_of;
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      for (const EventId event : forward.runs[r].work) {
        const EventId op = launching_op(trace, analysis.timeline, event);
        if (op != kNone && !attention_backend_of_op(trace.name_of(op)).empty()) run_of.emplace(op, r);
      }
    }
    if (run_of.empty()) return {};
    std::unordered_map<EventId, Ns> inside;  // time of direct children
    for (EventId event = 0; event < trace.size(); ++event) {
      const EventId parent = analysis.timeline.parent[event];
      if (parent != kNone && run_of.count(parent) != 0) inside[parent] += trace.duration[event];
    }
    std::map<std::string, std::vector<std::vector<EventId>>> by_name;
    for (const auto& [op, run] : run_of) {
      auto& runs = by_name[std::string(trace.name_of(op))];
      runs.resize(forward.runs.size());
      runs[run].push_back(op);
    }
    std::vector<Finding> findings;
    for (auto& [name, runs] : by_name) {
      std::vector<int64_t> selves;
      for (auto& run : runs) {
        std::sort(run.begin(), run.end());
        Ns self = 0;
        for (const EventId op : run) self += trace.duration[op] - inside[op];
        selves.push_back(self);
      }
      const Ns self = median(selves);
      const Ns host = median_host_ns(forward);
      if (self < kLeastTime || share_pct(self, host) < kLeastSharePct) continue;
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
};

}  // namespace

const Rule& host_moved() {
  static const HostMoved rule;
  return rule;
}

}  // namespace hunch::analysis::rules
