// launch_bound: between the kernels of one forward the device waits for the host to launch the next.
//
// Fires where, from the first to the last device work of a forward, the device is idle for at least a quarter
// of the time because the host had not come to the next launch or was in it. Idle time while the host waits
// for the device is host_sync's, and idle time after a launch is the device's own; neither counts here.
// Silent on forwards with one piece of work: there is no "between".
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/accounting.h"
#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

constexpr double kLeastSharePct = 25.0;
constexpr int64_t kLeastWorkOfTrace = 50;

struct Gaps {
  Ns waited = 0;  // idle for the host, between the run's first and last work
  Ns span = 0;
  std::vector<EventId> late;  // work that came late
};

Gaps gaps_of(const Analysis& analysis, const ForwardRun& run) {
  Gaps gaps;
  const trace::Trace& trace = *analysis.trace;
  Ns first = INT64_MAX;
  Ns last = INT64_MIN;
  for (const EventId event : run.work) {
    first = std::min(first, trace.start[event]);
    last = std::max(last, trace.end(event));
  }
  if (run.work.size() < 2) return gaps;
  gaps.span = last - first;
  for (const Slice& slice : account(analysis, run).slices) {
    if (slice.part != Part::wait_host && slice.part != Part::wait_launch) continue;
    const Ns waited = std::min(slice.end, last) - std::max(slice.start, first);
    if (waited <= 0) continue;
    gaps.waited += waited;
    if (slice.next != kNone && (gaps.late.empty() || gaps.late.back() != slice.next))
      gaps.late.push_back(slice.next);
  }
  return gaps;
}

class LaunchBound final : public Rule {
 public:
  std::string_view id() const override { return "launch_bound"; }
  std::string_view summary() const override { return "the device waits for the host between kernels"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    std::vector<int64_t> waited;
    std::vector<int64_t> spans;
    std::vector<int64_t> lates;
    std::vector<EventId> evidence;
    for (const ForwardRun& run : forward.runs) {
      const Gaps gaps = gaps_of(analysis, run);
      waited.push_back(gaps.waited);
      spans.push_back(gaps.span);
      lates.push_back(static_cast<int64_t>(gaps.late.size()));
      if (evidence.empty()) evidence = gaps.late;
    }
    const Ns wait = median(waited);
    const Ns span = median(spans);
    const int64_t count = median(lates);
    // A whole trace with little work is no forward: what the host does between is set-up.
    if (forward.source == ForwardSource::whole_trace && median_work(forward) < kLeastWorkOfTrace) return {};
    if (count == 0 || share_pct(wait, span) < kLeastSharePct) return {};
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = fmt::format(
        "the device waits for the host {} per forward ({} of the {} from its first to its last work), before "
        "{} of {} launches",
        base::format_ns(wait), percent_text(share_pct(wait, span)), base::format_ns(span), count,
        median_work(forward));
    finding.cause = fmt::format(
        "the host needs {} to launch {} of device work: each kernel is over before the next launch call "
        "comes",
        base::format_ns(median_host_ns(forward)), base::format_ns(median_device_ns(forward)));
    finding.advice =
        "launch less: fuse (torch.compile, a fused attention), larger batches, or replay the forward as a "
        "CUDA graph. Faster kernels do "
        "not help here";
    finding.cost_ns = wait;
    finding.events = evidence;
    return {finding};
  }

 private:
  static int64_t median_work(const Forward& forward) {
    std::vector<int64_t> counts;
    for (const ForwardRun& run : forward.runs) counts.push_back(static_cast<int64_t>(run.work.size()));
    return median(counts);
  }
};

}  // namespace

const Rule& launch_bound() {
  static const LaunchBound rule;
  return rule;
}

}  // namespace hunch::analysis::rules
