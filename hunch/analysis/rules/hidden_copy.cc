// hidden_copy: an out-of-place op clones its input before it writes; the copy has no line in the program.
//
// Fires on a copy of device memory (a memcpy from device to device, or a kernel that copies) that an op with
// an in-place form makes of its input, by clone or copy_, and on a memcpy by a clone that the program calls
// itself. Silent on copies that change a layout (layout_copy), on uploads, downloads, and on copy_ by name.
// The advice looks at what the value that would be overwritten was saved for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::rules {
namespace {

// Out-of-place ops that copy their input and then do what their in-place form does.
constexpr auto kCloning = std::to_array<std::string_view>(
    {"masked_fill", "masked_scatter", "index_put", "index_add", "index_copy", "index_fill", "index_reduce",
     "scatter", "scatter_add", "scatter_reduce", "put"});

bool is_cloning(std::string_view word) {
  return std::find(kCloning.begin(), kCloning.end(), word) != kCloning.end();
}

bool is_device_copy(const Analysis& analysis, EventId event) {
  const trace::Trace& trace = *analysis.trace;
  if (trace.kind[event] == trace::EventKind::memcpy) {
    const std::string_view name = trace.name_of(event);
    return base::contains(name, "DtoD") || base::contains(name, "Device -> Device") ||
           base::contains(name, "Device-to-Device");
  }
  return trace.kind[event] == trace::EventKind::kernel && analysis.facts_of(event).family == Family::copy;
}

// What autograd keeps of the result of the op before.
enum class Saved {
  nothing,  // neither its result nor anything that shares its memory
  result,   // its result, for its own gradient
  factor,   // a product with a tensor: its inputs, if that tensor is learned
  unknown,
};

struct Before {
  Saved saved = Saved::unknown;
  std::string what;  // for people: "mul by a constant", "softmax"
};

bool is_constant_factor(const Analysis& analysis, EventId work, EventId op) {
  const std::string_view kernel = analysis.trace->name_of(work);
  if (base::contains(kernel, "AUnaryFunctor") || base::contains(kernel, "BUnaryFunctor")) return true;
  if (analysis.trace->name_of(op).starts_with("hunch::")) return true;  // its mul takes a number
  const auto types = input_types(*analysis.trace, op);
  return types.size() >= 2 &&
         (types[1] == "double" || types[1] == "Scalar" || types[1] == "long int" || types[1] == "int");
}

// The op, beside the cloning one, that launched `work`: its ancestor with the same parent, else the
// innermost.
EventId op_beside(const Analysis& analysis, EventId work, EventId cloning) {
  const auto ops = ops_of(analysis, work);
  for (const EventId op : ops) {
    if (analysis.timeline.parent[op] == analysis.timeline.parent[cloning]) return op;
  }
  return ops.empty() ? kNone : ops.back();
}

// `copy`: its place in the run's work.
Before op_before(const Analysis& analysis, const ForwardRun& run, std::vector<EventId>::const_iterator copy,
                 EventId cloning) {
  for (auto before = copy; before != run.work.begin();) {
    --before;
    if (analysis.trace->kind[*before] == trace::EventKind::memset) continue;
    const EventId op = op_beside(analysis, *before, cloning);
    if (op == kNone) return {};
    std::string word(op_word(analysis.trace->name_of(op)));
    while (word.ends_with('_')) word.pop_back();
    while (word.starts_with('_')) word.erase(0, 1);
    if (word == "mul" || word == "div") {
      if (is_constant_factor(analysis, *before, op)) return {Saved::nothing, word + " by a constant"};
      return {Saved::factor, word + " by a tensor"};
    }
    constexpr auto kNothing = std::to_array<std::string_view>(
        {"matmul", "bmm", "baddbmm", "mm", "addmm", "linear", "einsum", "add", "sub", "neg", "to", "cast",
         "masked_fill", "where", "cat", "clone", "contiguous"});
    constexpr auto kResult =
        std::to_array<std::string_view>({"softmax", "safe_softmax", "log_softmax", "exp", "sigmoid", "tanh",
                                         "sqrt", "rsqrt", "reciprocal", "relu", "elu", "celu", "selu"});
    if (std::find(kNothing.begin(), kNothing.end(), word) != kNothing.end()) return {Saved::nothing, word};
    if (std::find(kResult.begin(), kResult.end(), word) != kResult.end()) return {Saved::result, word};
    return {Saved::unknown, word};
  }
  return {};
}

std::string advice_for(std::string_view in_place, const Before& before) {
  switch (before.saved) {
    case Saved::nothing:
      return fmt::format(
          "{} drops it; safe here even with a backward pass, since the op before it ({}) saved nothing of "
          "what would be overwritten",
          code(in_place), before.what);
    case Saved::result:
      return fmt::format(
          "{} drops it only where no gradients are needed. Unsafe with a backward pass: the op before it "
          "({}) saved the very "
          "values that would be overwritten, and the backward pass fails with \"modified by an inplace "
          "operation\"",
          code(in_place), before.what);
    case Saved::factor:
      return fmt::format(
          "{} drops it where no gradients are needed. Warning for a backward pass: the op before it is {}; "
          "if that tensor is "
          "learned, its gradient needs the saved values, and writing over them in place fails with "
          "\"modified by an inplace "
          "operation\"",
          code(in_place), before.what);
    case Saved::unknown:
      break;
  }
  return fmt::format(
      "{} drops it where no gradients are needed. With a backward pass, check first whether {} saved the "
      "values that would be "
      "overwritten",
      code(in_place),
      before.what.empty() ? std::string("an earlier op") : "the op before it (" + before.what + ")");
}

// The place in the copy's chain of the op that it is on account of: the cloning op, else a clone that the
// program calls. `moves_memory`: a memcpy, as a kernel changes the layout.
std::optional<std::size_t> copying_op(Words ops, bool moves_memory) {
  if (ops.empty() || (ops.back() != "copy_" && ops.back() != "clone")) return std::nullopt;
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (is_cloning(ops[i])) return i;
  }
  const bool program = ops.front() == "clone";
  return program && moves_memory ? std::optional<std::size_t>(0) : std::nullopt;
}

bool is_memcpy(const Analysis& analysis, EventId event) {
  return analysis.trace->kind[event] == trace::EventKind::memcpy;
}

class HiddenCopy final : public Rule {
 public:
  std::string_view id() const override { return "hidden_copy"; }
  std::string_view summary() const override {
    return "a device copy that an out-of-place op makes of its input";
  }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    // Copies by the chain of op names that leads to them.
    std::map<std::string, Gathered> by_chain;
    std::map<std::string, std::string> cloning_of;  // chain to the cloning op's name; empty: clone by name
    const OpChains& chains = analysis.chains;
    const auto copies_of = [&](uint32_t chain, bool moves_memory) -> Gathered* {
      const auto first = copying_op(chains.words(chain), moves_memory);
      if (!first) return nullptr;
      const std::string text = chain_text(analysis, chain, *first);
      auto& copies = by_chain[text];
      if (is_cloning(chains.words(chain)[*first]))
        cloning_of[text] = analysis.trace->strings.view(chains.names(chain)[*first]);
      return &copies;
    };
    Memo by_memcpy(chains.size(), [&](uint32_t chain) { return copies_of(chain, true); });
    Memo by_kernel(chains.size(), [&](uint32_t chain) { return copies_of(chain, false); });
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      for (const EventId event : forward.runs[r].work) {
        if (!is_device_copy(analysis, event)) continue;
        const uint32_t chain = chains.of(event);
        Gathered* copies = is_memcpy(analysis, event) ? by_memcpy(chain) : by_kernel(chain);
        if (copies != nullptr) copies->add(r, event);
      }
    }
    std::vector<Finding> findings;
    for (const auto& [chain, copies] : by_chain) {
      if (!copies.in_most(forward.runs.size())) continue;
      const Selection selection = copies.of_runs(forward.runs.size());
      findings.push_back(finding(analysis, forward, chain, cloning_of[chain], selection));
    }
    return findings;
  }

 private:
  Finding finding(const Analysis& analysis, const Forward& forward, const std::string& chain,
                  const std::string& cloning, const Selection& selection) const {
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = count_text(selection, "copy", "copies") + ", " + cost_text(analysis, forward, selection);
    finding.cost_ns = median_ns(analysis, selection);
    finding.cost_bytes = median_bytes(selection, [&](EventId event) -> std::optional<int64_t> {
      const auto* detail = analysis.trace->device_detail(event);
      return detail == nullptr || detail->bytes < 0 ? std::nullopt : std::optional(detail->bytes);
    });
    finding.events = selection.evidence();
    const std::string place = place_text(analysis, analysis.timeline.launch[finding.events.front()]);
    if (cloning.empty()) {
      finding.cause = fmt::format("the program asks for it: {} launches the copy{}", code(chain), place);
      finding.advice =
          "drop the clone where nobody writes to either of the two tensors afterwards; keep it where one "
          "does";
      return finding;
    }
    finding.cause = fmt::format("{} clones its input before it {}: {} launches the copy{}", code(cloning),
                                base::contains(cloning, "fill") ? "fills" : "writes", code(chain), place);
    const std::string in_place = std::string(op_word(cloning)) + "_";
    finding.advice = advice_for(in_place, least_safe(analysis, forward, selection));
    return finding;
  }

  // Of all copies of the first run that has some, the op before that is the least safe to write after.
  static Before least_safe(const Analysis& analysis, const Forward& forward, const Selection& selection) {
    const auto rank = [](Saved saved) {
      return saved == Saved::result ? 3 : saved == Saved::factor ? 2 : saved == Saved::unknown ? 1 : 0;
    };
    std::optional<Before> worst;
    for (std::size_t r = 0; r < selection.runs.size() && !worst; ++r) {
      auto copy = forward.runs[r].work.begin();  // the selection is in order of the run's work
      for (const EventId event : selection.runs[r]) {
        copy = std::find(copy, forward.runs[r].work.end(), event);
        const auto place = copying_op(words_of(analysis, event), is_memcpy(analysis, event));
        const Before before = op_before(analysis, forward.runs[r], copy, op_at(analysis, event, *place));
        if (!worst || rank(before.saved) > rank(worst->saved)) worst = before;
      }
    }
    return worst.value_or(Before{});
  }
};

}  // namespace

const Rule& hidden_copy() {
  static const HiddenCopy rule;
  return rule;
}

}  // namespace hunch::analysis::rules
