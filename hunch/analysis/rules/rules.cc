// The table of rules, and the pass that asks them all. Adding a rule: a file here, a line in the table, a
// page docs/rules/<id>.md, a row in the tests' table of traces.
#include <algorithm>
#include <array>
#include <iterator>

#include "hunch/analysis/rules/rule.h"
#include "hunch/base/thread_pool.h"

#define HUNCH_RULES(X)     \
  X(hidden_copy)           \
  X(layout_copy)           \
  X(fp32_upcast)           \
  X(tensor_cores_idle)     \
  X(mask_rebuilt)          \
  X(safe_softmax)          \
  X(unfused_attention)     \
  X(attention_backend)     \
  X(occupancy_by_design)   \
  X(occupancy_misreported) \
  X(host_moved)            \
  X(launch_bound)          \
  X(host_sync)             \
  X(workspace_memset)      \
  X(window_leak)           \
  X(graph_launch)          \
  X(graph_incomplete)      \
  X(first_call)

namespace hunch::analysis::rules {

#define HUNCH_DECLARE_RULE(id) const Rule& id();
HUNCH_RULES(HUNCH_DECLARE_RULE)
#undef HUNCH_DECLARE_RULE

std::span<const Rule* const> rules() {
#define HUNCH_RULE_POINTER(id) &id(),
  static const std::array kRules = {HUNCH_RULES(HUNCH_RULE_POINTER)};
#undef HUNCH_RULE_POINTER
  return kRules;
}

std::vector<Finding> find_all(const Analysis& analysis, int threads) {
  const auto all_rules = rules();
  const std::size_t asked = analysis.forwards.size() * all_rules.size();
  std::vector<std::vector<Finding>> answers(asked);  // by forward, then rule
  base::ThreadPool pool(threads);
  pool.parallel_for(static_cast<int64_t>(asked), [&](int64_t index, int) {
    const auto i = static_cast<std::size_t>(index);
    answers[i] = all_rules[i % all_rules.size()]->evaluate(analysis, analysis.forwards[i / all_rules.size()]);
  });
  std::vector<Finding> all;
  for (std::size_t begin = 0; begin < asked; begin += all_rules.size()) {
    std::vector<Finding> found;
    for (std::size_t i = begin; i < begin + all_rules.size(); ++i)
      std::move(answers[i].begin(), answers[i].end(), std::back_inserter(found));
    // Largest cost first; those without a cost in time keep the table's order, last.
    std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) {
      return a.cost_ns.value_or(-1) > b.cost_ns.value_or(-1);
    });
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace hunch::analysis::rules
