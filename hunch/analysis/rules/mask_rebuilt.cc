// mask_rebuilt: the attention mask is made again in every forward.
//
// Fires where every run of the forward launches a tril or triu, and counts with it the kernels right around
// it that only make the mask: ones and fills before it, fills and the where that turns it into 0 and -inf
// after it. Silent where a run has none, and on forwards without a product or softmax after the mask, which
// may make it once for others.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/rules/evidence.h"

namespace hunch::analysis::rules {
namespace {

bool builds(const Analysis& analysis, EventId event) {
  return analysis.trace->kind[event] == trace::EventKind::kernel &&
         analysis.facts_of(event).family == Family::mask_build;
}

bool fills(const Analysis& analysis, EventId event) {
  return analysis.facts_of(event).family == Family::fill;
}

// Kernels that go on with a fresh mask: constants, the choice between them, its turn into another type or
// sense.
bool goes_on(const Analysis& analysis, EventId event) {
  const Family family = analysis.facts_of(event).family;
  if (family == Family::fill || family == Family::where) return true;
  const Words ops = words_of(analysis, event);
  const std::string_view word = ops.empty() ? std::string_view{} : ops.back();
  return word == "logical_not" || word == "bitwise_not" || word == "eq";
}

std::vector<EventId> mask_work(const Analysis& analysis, const ForwardRun& run) {
  std::vector<EventId> work;
  std::size_t done = 0;
  for (std::size_t at = 0; at < run.work.size(); ++at) {
    if (at < done || !builds(analysis, run.work[at])) continue;
    std::size_t first = at;
    while (first > done && fills(analysis, run.work[first - 1])) --first;
    std::size_t last = at + 1;
    bool chosen = false;  // the where that makes 0 and -inf ends the mask
    while (last < run.work.size() && !chosen &&
           (builds(analysis, run.work[last]) || goes_on(analysis, run.work[last]))) {
      chosen = analysis.facts_of(run.work[last]).family == Family::where;
      ++last;
    }
    work.insert(work.end(), run.work.begin() + static_cast<std::ptrdiff_t>(first),
                run.work.begin() + static_cast<std::ptrdiff_t>(last));
    done = last;
  }
  return work;
}

bool is_used(const Analysis& analysis, const ForwardRun& run, const std::vector<EventId>& mask) {
  const auto after = std::find(run.work.begin(), run.work.end(), mask.back());
  return std::any_of(after, run.work.end(), [&](EventId event) {
    const Family family = analysis.facts_of(event).family;
    return family == Family::softmax || family == Family::attention_forward;
  });
}

class MaskRebuilt final : public Rule {
 public:
  std::string_view id() const override { return "mask_rebuilt"; }
  std::string_view summary() const override { return "the mask is made again in every forward"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    Selection selection;
    for (const ForwardRun& run : forward.runs) {
      auto& work = selection.runs.emplace_back(mask_work(analysis, run));
      if (work.empty() || !is_used(analysis, run, work)) return {};
    }
    if (selection.runs.empty()) return {};
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = count_text(selection, "kernel", "kernels") + " to make the mask, " +
                    cost_text(analysis, forward, selection);
    const auto built = std::find_if(selection.runs.front().begin(), selection.runs.front().end(),
                                    [&](EventId event) { return builds(analysis, event); });
    const std::string launched = launch_text(analysis, *built);
    finding.cause = forward.runs.size() == 1
                        ? "the forward makes it itself" + launched
                        : fmt::format("each of the {} runs makes it anew{}", forward.runs.size(), launched);
    finding.advice = math_path_of(analysis, *built) != kNone
                         ? "a fused backend applies `is_causal` while it computes and makes no mask; pinned "
                           "to the math path, pass a mask made once"
                         : "make the mask once outside of the forward, for as long as its shape stays the "
                           "same; or leave it to fused attention "
                           "(`is_causal=True`), which needs none";
    finding.cost_ns = median_ns(analysis, selection);
    finding.events = selection.evidence();
    return {finding};
  }
};

}  // namespace

const Rule& mask_rebuilt() {
  static const MaskRebuilt rule;
  return rule;
}

}  // namespace hunch::analysis::rules
