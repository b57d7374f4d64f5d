// workspace_memset: a library clears its workspace before its kernel runs.
//
// Fires on memsets whose innermost op launches, after them, a kernel of cuBLAS or cuDNN. Silent on memsets
// that the program asked for (zeros, zero_), which stand in an op without such a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

bool is_library_kernel(const Analysis& analysis, EventId event) {
  const std::string& provider = analysis.facts_of(event).provider;
  return analysis.trace->kind[event] == trace::EventKind::kernel &&
         (provider == "cublas" || provider == "cudnn" || provider == "tensile");
}

class WorkspaceMemset final : public Rule {
 public:
  std::string_view id() const override { return "workspace_memset"; }
  std::string_view summary() const override { return "a memset by which a library clears its workspace"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    const trace::Trace& trace = *analysis.trace;
    Selection selection;
    std::set<std::string_view> ops;
    std::set<std::string_view> providers;
    for (const ForwardRun& run : forward.runs) {
      auto& events = selection.runs.emplace_back();
      for (std::size_t at = 0; at < run.work.size(); ++at) {
        const EventId event = run.work[at];
        if (trace.kind[event] != trace::EventKind::memset) continue;
        const EventId op = launching_op(trace, analysis.timeline, event);
        if (op == kNone) continue;
        // The op's next kernels follow at once: nothing else launches between.
        for (std::size_t next = at + 1; next < run.work.size(); ++next) {
          if (launching_op(trace, analysis.timeline, run.work[next]) != op) break;
          if (!is_library_kernel(analysis, run.work[next])) continue;
          events.push_back(event);
          ops.insert(trace.name_of(op));
          providers.insert(analysis.facts_of(run.work[next]).provider);
          break;
        }
      }
    }
    if (median_count(selection) == 0) return {};
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim =
        count_text(selection, "memset", "memsets") + ", " + cost_text(analysis, forward, selection);
    finding.cost_ns = median_ns(analysis, selection);
    finding.cost_bytes = median_bytes(selection, [&](EventId event) -> std::optional<int64_t> {
      const auto* detail = trace.device_detail(event);
      return detail == nullptr || detail->bytes < 0 ? std::nullopt : std::optional(detail->bytes);
    });
    if (finding.cost_bytes) finding.claim += fmt::format(", {}", base::format_bytes(*finding.cost_bytes));
    std::vector<std::string> by, in;
    for (const std::string_view provider : providers) by.push_back(library_text(provider));
    for (const std::string_view op : ops) in.push_back(code(op));
    std::sort(by.begin(), by.end());
    std::sort(in.begin(), in.end());
    finding.cause = fmt::format("{} clear{} workspace before a kernel, within {}", base::join(by, " and "),
                                by.size() == 1 ? "s its" : " their", base::join(in, ", "));
    finding.advice =
        "nothing to do: it belongs to the library's call. Count memsets apart from kernels and copies";
    finding.events = selection.evidence();
    return {finding};
  }
};

}  // namespace

const Rule& workspace_memset() {
  static const WorkspaceMemset rule;
  return rule;
}

}  // namespace hunch::analysis::rules
