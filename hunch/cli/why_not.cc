#include "hunch/cli/why_not.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "hunch/base/strings.h"
#include "hunch/cli/why_trace.h"
#include "hunch/sdpa/choose.h"

namespace hunch::cli {
namespace {

constexpr std::size_t kMostCalls = 2;  // of different problems; more would bury the verdict

bool lies_in(const analysis::Analysis& analysis, std::string_view range, const TraceCall& call) {
  for (const auto& forward : analysis.forwards) {
    if (forward.range != range) continue;
    for (const auto& run : forward.runs)
      for (const trace::EventId op : call.ops)
        if (analysis.lies_in(run, op)) return true;
  }
  return false;
}

std::string clause_of(const TraceCall& call, sdpa::Backend wanted) {
  const sdpa::Choice choice = sdpa::choose(call.question.problem, call.question.setup);
  const bool expected = choice.settled && choice.takes && sdpa::name_of(*choice.takes) == call.took;
  // Others may have been switched off, but what was taken must be one that could be.
  const bool possible =
      std::any_of(choice.opinions.begin(), choice.opinions.end(), [&](const sdpa::Opinion& opinion) {
        return sdpa::name_of(opinion.backend) == call.took && opinion.usable.value_or(false);
      });
  if (!possible) return {};
  for (const sdpa::Opinion& opinion : choice.opinions) {
    if (opinion.backend != wanted || !opinion.usable) continue;
    if (*opinion.usable && !expected) return {};
    if (*opinion.usable)
      return fmt::format("{} would take {}, and stands behind {}{}", sdpa::name_of(wanted),
                         call.question.problem.text(), call.took,
                         choice.order_words.empty() ? "" : ": " + choice.order_words);
    std::vector<std::string> reasons;
    for (const sdpa::Reason& reason : opinion.reasons)
      if (reason.stand == sdpa::Stand::against)
        reasons.push_back(reason.text +
                          (reason.change.empty() ? "" : fmt::format(" (change: {})", reason.change)));
    return fmt::format("{} cannot take {}: {}", sdpa::name_of(wanted), call.question.problem.text(),
                       base::join(reasons, "; "));
  }
  return {};
}

}  // namespace

std::string why_not(const analysis::Analysis& analysis, std::string_view range, std::string_view wanted) {
  const auto backend = sdpa::parse_backend(wanted);
  if (!backend) return {};
  sdpa::Setup setup;
  setup.cudnn = sdpa::bundled_cudnn(setup.torch);
  const auto found = calls_of(analysis, setup, false, false, false);
  if (!found || !found->told_device) return {};
  std::vector<std::string> clauses;
  for (const TraceCall& call : found->calls) {
    if (call.took.empty() || call.took == wanted || !lies_in(analysis, range, call)) continue;
    const std::string clause = clause_of(call, *backend);
    if (!clause.empty() && std::find(clauses.begin(), clauses.end(), clause) == clauses.end())
      clauses.push_back(clause);
    if (clauses.size() == kMostCalls) break;
  }
  if (clauses.empty()) return {};
  std::string text = base::join(clauses, "; ");
  if (!found->told_torch)
    text += fmt::format(" (as PyTorch {}: the trace does not tell its version)", setup.torch_text);
  return text;
}

}  // namespace hunch::cli
