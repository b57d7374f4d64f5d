// Counting calls and the work that they launched; see module_ranges.h.
#include "hunch/analysis/module_ranges.h"

#include <algorithm>

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

class ModuleFinder {
 public:
  ModuleFinder(const Trace& trace, const Timeline& timeline, std::vector<bool> is_module)
      : trace_(trace),
        timeline_(timeline),
        is_module_(std::move(is_module)),
        calls_(trace.strings.size(), 0),
        nested_(trace.strings.size(), false) {
    for (EventId i = 0; i < trace.size(); ++i)
      if (is_frame(i)) ++calls_[trace.name[i]];
    for (EventId i = 0; i < trace.size(); ++i) {
      if (!is_frame(i) || !repeats(i)) continue;
      for (EventId at = timeline.parent[i]; at != kNone; at = timeline.parent[at])
        if (is_frame(at) && repeats(at) && trace.name[at] != trace.name[i]) nested_[trace.name[i]] = true;
    }
  }

  std::vector<EventId> find() {
    std::vector<std::size_t> repeated(trace_.size(), 0), outermost(trace_.size(), 0);
    std::size_t linked = 0, in_modules = 0, in_repeated = 0;
    for (const EventId work : timeline_.device_order) {
      if (timeline_.launch[work] == kNone) continue;
      ++linked;
      EventId outer = kNone, outer_repeated = kNone;
      for (EventId at = timeline_.launch[work]; at != kNone; at = timeline_.parent[at]) {
        if (!is_frame(at)) continue;
        outer = at;
        if (repeats(at) && !nested_[trace_.name[at]]) outer_repeated = at;
      }
      if (outer != kNone) {
        ++in_modules;
        ++outermost[outer];
      }
      if (outer_repeated != kNone) ++repeated[outer_repeated];
    }

    // A repeated name counts where at least two of its calls launched work.
    std::vector<uint32_t> launching(trace_.strings.size(), 0);
    for (EventId i = 0; i < trace_.size(); ++i)
      if (repeated[i] > 0) ++launching[trace_.name[i]];
    for (EventId i = 0; i < trace_.size(); ++i) {
      if (launching[trace_.name[i]] < 2) repeated[i] = 0;
      in_repeated += repeated[i];
    }
    // The activation that one model calls many times is no forward: it launches little of the model's work.
    // Nor is a module beside which nearly all work was launched without any.
    if (in_repeated > 0 && 2 * in_repeated >= in_modules && 10 * in_repeated >= linked)
      return those(repeated);
    if (2 * in_modules > linked) return those(outermost);
    return {};
  }

 private:
  bool is_frame(EventId event) const {
    return trace_.kind[event] == EventKind::python_frame && is_module_[trace_.name[event]];
  }
  bool repeats(EventId frame) const { return calls_[trace_.name[frame]] > 1; }

  static std::vector<EventId> those(const std::vector<std::size_t>& launched) {
    std::vector<EventId> frames;
    for (std::size_t i = 0; i < launched.size(); ++i)
      if (launched[i] > 0) frames.push_back(static_cast<EventId>(i));
    return frames;
  }

  const Trace& trace_;
  const Timeline& timeline_;
  const std::vector<bool> is_module_;  // by StringId
  std::vector<uint32_t> calls_;        // by StringId
  std::vector<bool> nested_;           // by StringId: called inside another module that repeats, as well
};

}  // namespace

std::vector<bool> module_names(const Trace& trace) {
  std::vector<bool> is_module(trace.strings.size());
  bool any = false;
  for (trace::StringId id = 0; id < trace.strings.size(); ++id) {
    is_module[id] = trace.strings.view(id).starts_with(kModulePrefix);
    any = any || is_module[id];
  }
  if (!any) is_module.clear();
  return is_module;
}

std::vector<EventId> find_module_ranges(const Trace& trace, const Timeline& timeline) {
  std::vector<bool> is_module = module_names(trace);
  if (is_module.empty()) return {};
  return ModuleFinder(trace, timeline, std::move(is_module)).find();
}

}  // namespace hunch::analysis
