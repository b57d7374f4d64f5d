// safe_softmax: the kernels around a softmax that turn the NaN of fully masked rows into zeros.
//
// Fires on the work launched inside "_safe_softmax" besides the softmax itself. Silent everywhere else: the
// same kernels elsewhere may have another purpose.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

class SafeSoftmax final : public Rule {
 public:
  std::string_view id() const override { return "safe_softmax"; }
  std::string_view summary() const override { return "the extra kernels of the NaN-safe softmax"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    Memo is_inside(analysis.chains.size(),
                   [&](uint32_t chain) { return has_word(analysis.chains.words(chain), {"_safe_softmax"}); });
    const Selection selection = select(forward, [&](EventId event) {
      return is_inside(analysis.chains.of(event)) && analysis.facts_of(event).family != Family::softmax;
    });
    if (median_count(selection) == 0) return {};
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = count_text(selection, "kernel", "kernels") + " besides the softmax itself, " +
                    cost_text(analysis, forward, selection);
    finding.events = selection.evidence();
    std::vector<std::string> words;
    for (const EventId event : finding.events) {
      const auto ops = ops_of(analysis, event);
      const auto safe = find_op(analysis, ops, "_safe_softmax");
      const std::string word(*safe + 1 < ops.size() ? op_word(analysis.trace->name_of(ops[*safe + 1])) : "?");
      words.push_back(fmt::format("{} {}", word, base::format_ns(analysis.trace->duration[event])));
      if (words.size() == 8) break;
    }
    finding.cause =
        fmt::format("{} gives zeros where a row is masked entirely, and a plain softmax gives NaN there: {}",
                    code("_safe_softmax"), base::join(words, ", "));
    finding.advice =
        "a fused backend does this within its kernel. Needed only where a row can be masked entirely: a "
        "causal mask over as many keys as queries "
        "never does";
    finding.cost_ns = median_ns(analysis, selection);
    return {finding};
  }
};

}  // namespace

const Rule& safe_softmax() {
  static const SafeSoftmax rule;
  return rule;
}

}  // namespace hunch::analysis::rules
