// window_leak: the trace begins with device work whose launches lie before the recording.
//
// Fires once a trace, with its first forward, on device work without a launch call that starts before any
// work with one. Silent where the trace has no calls at all, and on work without a launch later on: that
// launch was lost, not early.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

class WindowLeak final : public Rule {
 public:
  std::string_view id() const override { return "window_leak"; }
  std::string_view summary() const override { return "device work launched before the recording began"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    if (&forward != &analysis.forwards.front()) return {};
    const trace::Trace& trace = *analysis.trace;
    Ns first_linked = INT64_MAX;
    for (const EventId event : analysis.timeline.device_order) {
      if (analysis.timeline.launch[event] != kNone) first_linked = std::min(first_linked, trace.start[event]);
    }
    if (first_linked == INT64_MAX) return {};
    Finding finding;
    Ns time = 0;
    for (const EventId event : analysis.unattributed) {
      if (analysis.timeline.launch[event] != kNone || trace.start[event] >= first_linked) continue;
      finding.events.push_back(event);
      time += trace.duration[event];
    }
    if (finding.events.empty()) return {};
    const bool one = finding.events.size() == 1;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = fmt::format("{} device event{} ({}) at the start of the trace belong{} to no forward",
                                finding.events.size(), one ? "" : "s", base::format_ns(time), one ? "s" : "");
    finding.cause = fmt::format(
        "{} launched before the recording began: no call in the trace has {} correlation, and {} before all "
        "work that was "
        "launched in it",
        one ? "it was" : "they were", one ? "its" : "their", one ? "it starts" : "they start");
    finding.advice =
        "leave them out of counts; synchronize before the recording starts, or record one more warm-up step, "
        "to keep them out of the "
        "trace";
    return {finding};
  }
};

}  // namespace

const Rule& window_leak() {
  static const WindowLeak rule;
  return rule;
}

}  // namespace hunch::analysis::rules
