// See the header.
#include "hunch/analysis/diff/reasons.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hunch::analysis::diff {
namespace {

constexpr std::array<std::string_view, 9> kExplaining = {
    "hidden_copy",  "layout_copy", "fp32_upcast",       "tensor_cores_idle", "mask_rebuilt",
    "safe_softmax", "host_sync",   "unfused_attention", "workspace_memset",
};

bool explains(const rules::Finding& finding) {
  return std::find(kExplaining.begin(), kExplaining.end(), finding.rule) != kExplaining.end();
}

}  // namespace

std::vector<rules::Finding> findings_of(const Side& side, const std::string& range) {
  std::vector<rules::Finding> found;
  for (const auto& finding : *side.findings)
    if (finding.range == range) found.push_back(finding);
  return found;
}

FindingChange change_of(const std::vector<rules::Finding>& before, const std::vector<rules::Finding>& after) {
  std::vector<bool> met_before(before.size(), false), met_after(after.size(), false);
  for (const bool by_cause : {true, false}) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t j = 0; j < after.size() && !met_before[i]; ++j) {
        if (met_after[j] || before[i].rule != after[j].rule) continue;
        if (by_cause && before[i].cause != after[j].cause) continue;
        met_before[i] = met_after[j] = true;
      }
    }
  }
  FindingChange change;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!met_before[i]) change.vanished.push_back(before[i]);
  for (std::size_t j = 0; j < after.size(); ++j)
    if (!met_after[j]) change.appeared.push_back(after[j]);
  return change;
}

Explainer::Explainer(const Steps& steps, const std::vector<rules::Finding>& findings)
    : of_step_(steps.symbols.size()) {
  const auto step_of = steps.step_of();
  for (const auto& finding : findings) {
    if (!explains(finding)) continue;
    for (const EventId event : finding.events)
      if (const auto found = step_of.find(event); found != step_of.end())
        of_step_[found->second].push_back(&finding);
  }
}

const rules::Finding* Explainer::about(const std::vector<std::size_t>& steps) const {
  if (steps.empty()) return nullptr;
  const rules::Finding* best = nullptr;
  for (const rules::Finding* finding : of_step_[steps.front()]) {
    const bool all = std::all_of(steps.begin(), steps.end(), [&](std::size_t step) {
      return std::find(of_step_[step].begin(), of_step_[step].end(), finding) != of_step_[step].end();
    });
    if (all && (best == nullptr || finding->events.size() < best->events.size())) best = finding;
  }
  return best;
}

}  // namespace hunch::analysis::diff
