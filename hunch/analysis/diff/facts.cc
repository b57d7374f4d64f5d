// See the header.
#include "hunch/analysis/diff/facts.h"

#include <fmt/format.h>

namespace hunch::analysis::diff {
namespace {

bool is_16_bit(std::string_view dtype) { return dtype == "bf16" || dtype == "f16" || dtype == "16-bit"; }

bool other_dtype(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || a == b) return false;
  return !(is_16_bit(a) && is_16_bit(b) && (a == "16-bit" || b == "16-bit"));
}

std::string readable(const Analysis& analysis, EventId event) {
  const std::string& name = analysis.facts_of(event).readable;
  return name.empty() ? std::string(analysis.trace->name_of(event)) : name;
}

// The shapes of the outermost op's inputs, without blanks; empty where the trace has none.
std::string shapes_of(const Analysis& analysis, EventId event) {
  const auto ops = op_stack(*analysis.trace, analysis.timeline, event);
  const std::string_view outer = analysis.outer_op(event);
  for (const EventId op : ops) {
    if (analysis.trace->name_of(op) != outer) continue;
    const auto* detail = analysis.trace->op_detail(op);
    if (detail == nullptr || detail->input_dims == kNone) return {};
    std::string text;
    for (const char c : analysis.trace->strings.view(detail->input_dims))
      if (c != ' ') text += c;
    return text;
  }
  return {};
}

}  // namespace

std::string_view bare(std::string_view op) {
  const auto space = op.rfind("::");
  return space == std::string_view::npos ? op : op.substr(space + 2);
}

std::vector<FactChange> fact_changes(const Analysis& before, EventId before_event, const Analysis& after,
                                     EventId after_event) {
  std::vector<FactChange> changes;
  const KernelFacts& a = before.facts_of(before_event);
  const KernelFacts& b = after.facts_of(after_event);
  const std::string_view op_a = bare(before.outer_op(before_event)), op_b = bare(after.outer_op(after_event));
  if (op_a != op_b && !op_a.empty() && !op_b.empty())
    changes.push_back({"op", std::string(op_a), std::string(op_b)});
  const std::string_view name_a = before.trace->name_of(before_event);
  const std::string_view name_b = after.trace->name_of(after_event);
  if (name_a != name_b) {
    const std::string readable_a = readable(before, before_event), readable_b = readable(after, after_event);
    if (readable_a != readable_b)
      changes.push_back({"kernel", readable_a, readable_b});
    else
      changes.push_back({"kernel", std::string(name_a), std::string(name_b)});
  }
  if (a.backend != b.backend && !a.backend.empty() && !b.backend.empty())
    changes.push_back({"backend", a.backend, b.backend});
  if (other_dtype(a.dtype, b.dtype)) changes.push_back({"dtype", a.dtype, b.dtype});
  if (a.tensor_cores && b.tensor_cores && *a.tensor_cores != *b.tensor_cores)
    changes.push_back({"tensor cores", *a.tensor_cores ? "yes" : "no", *b.tensor_cores ? "yes" : "no"});
  return changes;
}

std::vector<std::string> size_warnings(const Steps& before, const Steps& after,
                                       const std::vector<Pair>& pairs) {
  std::size_t with_shapes = 0, other_shapes = 0, with_grids = 0, other_grids = 0;
  std::string example;
  for (const auto& [i, j] : pairs) {
    const Symbol &a = before.symbols[i], &b = after.symbols[j];
    if (a.name == b.name && a.grid != 0 && b.grid != 0) {
      ++with_grids;
      if (a.grid != b.grid) ++other_grids;
    }
    const EventId event_a = before.work()[i], event_b = after.work()[j];
    const std::string_view op = before.analysis->outer_op(event_a);
    if (op.empty() || op != after.analysis->outer_op(event_b)) continue;
    const std::string shapes_a = shapes_of(*before.analysis, event_a);
    const std::string shapes_b = shapes_of(*after.analysis, event_b);
    if (shapes_a.empty() || shapes_b.empty()) continue;
    ++with_shapes;
    if (shapes_a == shapes_b) continue;
    if (++other_shapes == 1) example = fmt::format("{} takes {} before, {} after", op, shapes_a, shapes_b);
  }
  std::vector<std::string> warnings;
  if (other_shapes > 0)
    warnings.push_back(fmt::format("other shapes in {} of {} steps, so times compare different work: {}",
                                   other_shapes, with_shapes, example));
  else if (with_shapes == 0 && other_grids > 0)
    warnings.push_back(
        fmt::format("{} of {} steps run the same kernel on another grid: the sizes may differ (the traces "
                    "have no shapes; record_shapes=True records them)",
                    other_grids, with_grids));
  return warnings;
}

}  // namespace hunch::analysis::diff
