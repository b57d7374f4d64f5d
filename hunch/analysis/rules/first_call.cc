// first_call: work that happens once (loading code, growing the memory pool) lies inside a measured forward.
//
// Fires on calls that load modules or libraries of kernels or allocate device memory from the driver, inside
// a run of the forward. Silent where every run has them as often: then it is no first call. The cost is what
// the median run pays, and the claim says what the slow run paid.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

class FirstCall final : public Rule {
 public:
  std::string_view id() const override { return "first_call"; }
  std::string_view summary() const override { return "one-time work inside a measured forward"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    if (forward.runs.size() < 2) return {};  // nothing to tell the first run from
    const trace::Trace& trace = *analysis.trace;
    const auto& calls = analysis.timeline.one_time_calls;
    if (calls.empty()) return {};
    std::vector<int64_t> times(forward.runs.size());
    std::vector<std::vector<EventId>> events(forward.runs.size());
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      events[r] = calls_in(analysis, forward.runs[r], calls);
      std::sort(events[r].begin(), events[r].end());
      for (const EventId call : events[r]) times[r] += trace.duration[call];
    }
    std::vector<int64_t> counts;
    for (const auto& run : events) counts.push_back(static_cast<int64_t>(run.size()));
    const auto most =
        static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    if (counts[most] == 0 || *std::min_element(counts.begin(), counts.end()) == counts[most]) return {};
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = fmt::format("run {} of {} makes {} one-time call{}, {} of its {} host time", most + 1,
                                forward.runs.size(), counts[most], counts[most] == 1 ? "" : "s",
                                base::format_ns(times[most]), base::format_ns(forward.runs[most].host_ns));
    finding.cause = fmt::format("{} inside the measured forward; the median run makes {}",
                                code(trace.name_of(events[most].front())), median(counts));
    finding.advice =
        "warm up before measuring: run the forward with the same shapes at least once before the recording "
        "starts";
    finding.cost_ns = median(times);
    finding.events = events[most];
    return {finding};
  }
};

}  // namespace

const Rule& first_call() {
  static const FirstCall rule;
  return rule;
}

}  // namespace hunch::analysis::rules
