// host_sync: inside a forward the host stops and waits for the device.
//
// Fires on calls that return only when the device is done (stream, device and event synchronization, copies
// that are not asynchronous) on the forward's thread, told apart by the op that made them. Silent on waits
// outside of forwards, and on the profiler's own.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

std::string advice_for(std::string_view chain, std::string_view copy) {
  for (const std::string_view word : {"item", "_local_scalar_dense", "is_nonzero", "equal", "nonzero"}) {
    if (base::contains(chain, word)) {
      return "keep the value on the device: no `.item()`, no `if` on a tensor, no shape that depends on "
             "data; or read it once, after the forward";
    }
  }
  if (base::contains(copy, "Pageable")) {
    return "copy from pinned memory with non_blocking=True, or make the tensor on the device; small "
           "constants can be made once and kept";
  }
  if (base::contains(copy, "DtoH"))
    return "copy to pinned memory with non_blocking=True and synchronize once, after the forward";
  return "move the wait behind the forward, or replace it by an event that another stream waits for";
}

class HostSync final : public Rule {
 public:
  std::string_view id() const override { return "host_sync"; }
  std::string_view summary() const override { return "the host waits for the device inside a forward"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    const trace::Trace& trace = *analysis.trace;
    struct Group {
      std::vector<int64_t> counts, times;  // of the runs that have some
      std::vector<EventId> events;         // of the first of them
      std::size_t first_run = 0, last_run = SIZE_MAX;
      std::string call, copy;
    };
    std::map<std::string, Group> groups;
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      const ForwardRun& run = forward.runs[r];
      for (const EventId wait : calls_in(analysis, run, analysis.timeline.waits)) {
        const auto ops = ops_around(analysis, wait);
        if (ops.empty() && ends_run(analysis, run, wait)) continue;
        const std::string chain = chain_text(analysis, ops);
        auto [at, fresh] = groups.try_emplace(chain);
        Group& group = at->second;
        if (fresh) {
          group.first_run = r;
          group.call = std::string(trace.name_of(wait));
        }
        if (group.last_run != r) {
          group.last_run = r;
          group.counts.push_back(0);
          group.times.push_back(0);
        }
        ++group.counts.back();
        group.times.back() += trace.duration[wait];
        if (group.first_run == r) group.events.push_back(wait);
        if (group.copy.empty() && !ops.empty()) group.copy = copy_in(analysis, run, ops.back());
      }
    }
    std::vector<Finding> findings;
    const Ns host = median_host_ns(forward);
    for (auto& [chain, group] : groups) {
      if (group.counts.size() <= forward.runs.size() / 2) continue;  // the median run has none
      group.counts.resize(forward.runs.size());
      group.times.resize(forward.runs.size());
      const int64_t count = median(group.counts);
      const Ns time = median(group.times);
      Finding finding;
      finding.rule = id();
      finding.range = forward.range;
      finding.claim = fmt::format("{} wait{} for the device per forward, {} of host time", count,
                                  count == 1 ? "" : "s", base::format_ns(time));
      if (host > 0)
        finding.claim +=
            fmt::format(" ({} of {})", percent_text(share_pct(time, host)), base::format_ns(host));
      finding.cause = chain.empty()
                          ? fmt::format("the program calls {}", code(group.call))
                          : fmt::format("{} calls {}{}", code(chain), code(group.call),
                                        group.copy.empty() ? "" : fmt::format(" after \"{}\"", group.copy));
      finding.cause += place_text(analysis, group.events.front());
      finding.advice = advice_for(chain, group.copy);
      finding.cost_ns = time;
      finding.events = group.events;
      findings.push_back(std::move(finding));
    }
    return findings;
  }

 private:
  // A wait for the whole device after the run's last launch: the end of a measurement or the profiler's own.
  // The forward itself waits for nothing there.
  static bool ends_run(const Analysis& analysis, const ForwardRun& run, EventId wait) {
    const trace::Trace& trace = *analysis.trace;
    if (!base::contains(trace.name_of(wait), "DeviceSynchronize")) return false;
    return std::none_of(run.work.begin(), run.work.end(), [&](EventId event) {
      const EventId call = analysis.timeline.launch[event];
      return call != kNone && trace.start[call] > trace.start[wait];
    });
  }

  // The name of a copy that the same op launched: "Memcpy DtoH (Device -> Pageable)".
  static std::string copy_in(const Analysis& analysis, const ForwardRun& run, EventId op) {
    const trace::Trace& trace = *analysis.trace;
    const auto launched = [&](EventId event) {  // the work is in order of that
      const EventId call = analysis.timeline.launch[event];
      return trace.start[call == kNone ? event : call];
    };
    auto at = std::partition_point(run.work.begin(), run.work.end(),
                                   [&](EventId event) { return launched(event) < trace.start[op]; });
    for (; at != run.work.end() && launched(*at) <= trace.end(op); ++at) {
      if (trace.kind[*at] == trace::EventKind::memcpy && launching_op(trace, analysis.timeline, *at) == op)
        return std::string(trace.name_of(*at));
    }
    return {};
  }
};

}  // namespace

const Rule& host_sync() {
  static const HostSync rule;
  return rule;
}

}  // namespace hunch::analysis::rules
