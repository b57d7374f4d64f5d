// layout_copy: memory is copied only so that its elements lie in another order, or repeat, or have padding.
//
// Fires on kernels (and copies) launched by clone or copy_ inside contiguous, reshape, flatten, repeat,
// repeat_interleave, pad and their like, told apart by who asked: the program, a product that needs its batch
// dense, or a reshape after an expand. Silent on copies that an out-of-place op makes (hidden_copy), on casts
// and on copies of under 1 % of the forward in sum.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::rules {
namespace {

constexpr double kLeastSharePct = 1.0;

enum class Reason { contiguous, expanded, product, repeat, pad, attention, other };

bool any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Place {
  Reason reason = Reason::other;
  std::size_t first = 0;         // in the ops around the launch: where the chain to show begins
  bool may_be_expanded = false;  // the reason may be an expand right before the op at `first`
};

bool copies(const Analysis& analysis, EventId event) {
  const trace::Trace& trace = *analysis.trace;
  const Family family = analysis.facts_of(event).family;
  if (trace.kind[event] == trace::EventKind::memcpy) return base::contains(trace.name_of(event), "DtoD");
  return trace.kind[event] == trace::EventKind::kernel && (family == Family::copy || family == Family::fill);
}

// Nothing where the copy is on account of something else than a layout.
std::optional<Place> place_of(Words ops) {
  const auto word = [&](std::size_t i) { return ops[i]; };
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (any_of(word(i), {"constant_pad_nd", "pad", "_pad_circular"})) return Place{Reason::pad, i};
    if (any_of(word(i), {"repeat", "repeat_heads", "tile", "repeat_interleave", "repeat_kv"}))
      return Place{Reason::repeat, i};
  }
  const bool copying = !ops.empty() && any_of(word(ops.size() - 1), {"copy_", "clone", "contiguous"});
  if (!copying) return std::nullopt;
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (any_of(word(i), {"contiguous", "reshape", "flatten", "unflatten", "_reshape_copy", "ravel"})) {
      for (std::size_t j = i; j-- > 0;) {
        if (any_of(word(j), {"matmul", "bmm", "baddbmm", "linear", "einsum"}))
          return Place{Reason::product, j};
        if (base::contains(word(j), "attention")) return Place{Reason::attention, j};
      }
      return Place{Reason::contiguous, i, word(i) != "contiguous"};
    }
  }
  return std::nullopt;
}

bool fills(const Analysis& analysis, EventId event) {
  return analysis.facts_of(event).family == Family::fill;
}

bool follows_expand(const Analysis& analysis, EventId op) {
  const EventId before = previous_op(*analysis.trace, analysis.timeline, op);
  return before != kNone && op_word(analysis.trace->name_of(before)) == "expand";
}

std::string cause_of(Reason reason, const std::string& chain) {
  switch (reason) {
    case Reason::contiguous:
      return fmt::format(
          "a tensor with another order of dimensions is written out anew: {} launches the copy", code(chain));
    case Reason::expanded:
      return fmt::format(
          "{} makes a view in which elements repeat, and the reshape after it has to write them all out, as "
          "repeat_kv does for "
          "grouped heads: {} launches the copy",
          code("expand"), code(chain));
    case Reason::product:
      return fmt::format(
          "the product needs its batch dimensions dense and its operand is a view (transposed or expanded): "
          "{} launches the copy",
          code(chain));
    case Reason::repeat:
      return fmt::format("elements are repeated in memory: {} launches the copy", code(chain));
    case Reason::pad:
      return fmt::format("a tensor is copied into a larger one with padding: {} launches the copy",
                         code(chain));
    case Reason::attention:
      return fmt::format(
          "the attention op brings its inputs into the layout that its kernel reads: {} launches the copy",
          code(chain));
    case Reason::other:
      break;
  }
  return fmt::format("{} launches the copy", code(chain));
}

std::string advice_of(Reason reason) {
  switch (reason) {
    case Reason::contiguous:
      return "drop it where the next op reads strided views: fused attention takes any order of batch, heads "
             "and length as long as head_dim lies "
             "dense. Keep it where the next op needs dense memory, since that op would copy by itself";
    case Reason::expanded:
    case Reason::repeat:
      return "read grouped heads as they are: scaled_dot_product_attention with enable_gqa=True, or a kernel "
             "that takes fewer key and value heads. "
             "Needed only where the attention at hand knows no grouped heads";
    case Reason::product:
      return "make the operand dense once where several products read it, or use fused attention, which "
             "reads strided views";
    case Reason::pad:
      return "choose sizes that need no padding (head_dim a multiple of 8), or pad the weights once instead "
             "of each activation";
    case Reason::attention:
      return "give inputs in a layout that the kernel reads: head_dim dense, sizes and strides a multiple of "
             "8 elements";
    case Reason::other:
      break;
  }
  return "look whether the next op reads the view";
}

class LayoutCopy final : public Rule {
 public:
  std::string_view id() const override { return "layout_copy"; }
  std::string_view summary() const override { return "a copy that only changes the layout of a tensor"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    struct Group {
      Reason reason;
      std::string chain;
      Gathered copies;
    };
    std::map<std::pair<int, std::string>, Group> groups;
    const OpChains& chains = analysis.chains;
    const auto group_of = [&](Reason reason, std::string chain) {
      Group& group = groups[{static_cast<int>(reason), chain}];
      group.reason = reason;
      group.chain = std::move(chain);
      return &group;
    };
    struct OfChain {
      std::optional<Place> place;
      Group *group = nullptr, *expanded = nullptr;
    };
    Memo of_chain(chains.size(), [&](uint32_t chain) {
      OfChain of{place_of(chains.words(chain))};
      if (!of.place) return of;
      const std::string text = chain_text(analysis, chain, of.place->first);
      of.group = group_of(of.place->reason, text);
      if (of.place->may_be_expanded) of.expanded = group_of(Reason::expanded, text);
      return of;
    });
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      for (const EventId event : forward.runs[r].work) {
        if (!copies(analysis, event)) continue;
        const OfChain& of = of_chain(chains.of(event));
        if (!of.place) continue;
        const Reason reason = of.place->reason;
        if (fills(analysis, event) && reason != Reason::pad && reason != Reason::repeat) continue;
        const bool expanded =
            of.place->may_be_expanded && follows_expand(analysis, op_at(analysis, event, of.place->first));
        (expanded ? of.expanded : of.group)->copies.add(r, event);
      }
    }
    std::vector<Finding> findings;
    for (const auto& [key, group] : groups) {
      if (!group.copies.in_most(forward.runs.size())) continue;
      const Selection selection = group.copies.of_runs(forward.runs.size());
      const Ns cost = median_ns(analysis, selection);
      if (share_pct(cost, median_device_ns(forward)) < kLeastSharePct) continue;
      Finding finding;
      finding.rule = id();
      finding.range = forward.range;
      finding.claim = count_text(selection, "layout copy", "layout copies") + ", " +
                      cost_text(analysis, forward, selection);
      finding.cause = cause_of(group.reason, group.chain) +
                      place_text(analysis, analysis.timeline.launch[selection.evidence().front()]);
      finding.advice = advice_of(group.reason);
      finding.cost_ns = cost;
      finding.cost_bytes =
          median_bytes(selection, [&](EventId event) { return bytes_written(analysis, event); });
      finding.events = selection.evidence();
      findings.push_back(std::move(finding));
    }
    return findings;
  }

 private:
  // What the trace says of the result's size: a memcpy's bytes, or the shape and type of copy_'s target.
  static std::optional<int64_t> bytes_written(const Analysis& analysis, EventId event) {
    const trace::Trace& trace = *analysis.trace;
    const auto* detail = trace.device_detail(event);
    if (trace.kind[event] == trace::EventKind::memcpy) {
      return detail == nullptr || detail->bytes < 0 ? std::nullopt : std::optional(detail->bytes);
    }
    const auto ops = ops_of(analysis, event);
    if (ops.empty() || op_word(trace.name_of(ops.back())) != "copy_") return std::nullopt;
    const auto shapes = input_shapes(trace, ops.back());
    if (shapes.empty() || !shapes.front()) return std::nullopt;
    const auto types = input_types(trace, ops.back());
    const auto size = bytes_of_type(types.empty() ? std::string_view(analysis.facts_of(event).dtype)
                                                  : std::string_view(types.front()));
    if (!size) return std::nullopt;
    return elements(*shapes.front()) * *size;
  }
};

}  // namespace

const Rule& layout_copy() {
  static const LayoutCopy rule;
  return rule;
}

}  // namespace hunch::analysis::rules
