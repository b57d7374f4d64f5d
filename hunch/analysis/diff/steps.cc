// See the header.
#include "hunch/analysis/diff/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace hunch::analysis::diff {
namespace {

std::vector<Symbol> symbols_of(const Analysis& analysis, const ForwardRun& run, Words& words) {
  const trace::Trace& trace = *analysis.trace;
  std::vector<Symbol> symbols;
  symbols.reserve(run.work.size());
  for (const EventId event : run.work) {
    Symbol symbol;
    const std::string_view op = step_word(analysis.outer_op(event));
    const std::string_view name = trace.name_of(event);
    const Family family = analysis.facts_of(event).family;
    symbol.family = static_cast<uint32_t>(family);
    symbol.op = words.of(op);
    symbol.name = words.of(name);
    symbol.step = words.of(fmt::format("{}\n{}", name_of(family), op));
    symbol.exact = words.of(fmt::format("{}\n{}\n{}", name_of(family), op, name));
    if (const auto* detail = trace.device_detail(event); detail != nullptr && detail->grid[0] != 0)
      symbol.grid = words.of(fmt::format("{}", fmt::join(detail->grid, "x")));
    symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace

uint32_t Words::of(std::string_view text) {
  if (text.empty()) return 0;
  return ids_.emplace(text, static_cast<uint32_t>(ids_.size() + 1)).first->second;
}

std::string_view step_word(std::string_view op) {
  const auto space = op.rfind("::");
  if (space != std::string_view::npos) op.remove_prefix(space + 2);
  while (op.size() > 1 && op.back() == '_') op.remove_suffix(1);
  return op;
}

std::size_t representative_run(const Forward& forward) {
  std::vector<std::size_t> order(forward.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return forward.runs[a].device_ns < forward.runs[b].device_ns;
  });
  return order.empty() ? 0 : order[(order.size() - 1) / 2];
}

std::unordered_map<EventId, std::size_t> Steps::step_of() const {
  std::unordered_map<EventId, std::size_t> steps;
  for (const auto& pieces : in_run)
    for (std::size_t step = 0; step < pieces.size(); ++step)
      if (pieces[step] != kNone) steps.emplace(pieces[step], step);
  return steps;
}

Steps make_steps(const Analysis& analysis, const Forward& forward, Words& words) {
  Steps steps;
  steps.analysis = &analysis;
  steps.forward = &forward;
  steps.run = representative_run(forward);
  steps.symbols = symbols_of(analysis, forward.runs[steps.run], words);
  for (std::size_t run = 0; run < forward.runs.size(); ++run) {
    const auto& work = forward.runs[run].work;
    if (run == steps.run) {
      steps.in_run.push_back(work);
      continue;
    }
    std::vector<EventId> pieces(steps.symbols.size(), kNone);
    for (const auto& [step, piece] : align(steps.symbols, symbols_of(analysis, forward.runs[run], words)))
      pieces[step] = work[piece];
    steps.in_run.push_back(std::move(pieces));
  }
  return steps;
}

}  // namespace hunch::analysis::diff
