// unfused_attention: product, scale, mask, softmax, product in a row; the score matrix goes through memory.
//
// Fires on a product of batches of matrices, a softmax and another such product with nothing but scaling,
// masks, casts, copies, dropout and the safe softmax's own kernels between them, each instance once. Silent
// on fused kernels, on products of layers (linear, addmm), on a softmax that no product follows, on
// log-softmax. The cost is the time of everything between the two products: a fused kernel does it in
// registers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/function_ref.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

// What the ops around a launch make of a product, a softmax, a reduction.
struct Around {
  bool batched_product = false;
  bool forward_softmax = false;
  bool safe_softmax = false;
};

Around around_of(Words ops) {
  Around around;
  around.batched_product = !has_word(ops, {"linear", "addmm", "mm", "addmv", "mv"}) &&
                           has_word(ops, {"bmm", "baddbmm", "matmul", "einsum"});
  around.forward_softmax = !has_word(ops, {"log_softmax", "_log_softmax", "_softmax_backward_data"});
  around.safe_softmax = has_word(ops, {"_safe_softmax"});
  return around;
}

// What a piece of work is to attention by hand.
enum class Role { product, softmax, between, other };

Role role_of(Family family, const Around& around) {
  switch (family) {
    case Family::matmul:
      return around.batched_product ? Role::product : Role::other;
    case Family::softmax:
      return around.forward_softmax ? Role::softmax : Role::other;
    case Family::elementwise:
    case Family::masked_fill:
    case Family::where:
    case Family::mask_build:
    case Family::fill:
    case Family::cast:
    case Family::copy:
    case Family::memcpy:
    case Family::memset:
    case Family::random:
    case Family::matmul_other:
      return Role::between;
    case Family::reduction:
      return around.safe_softmax ? Role::between : Role::other;
    default:
      return Role::other;
  }
}

struct Instance {
  std::size_t first = 0, softmax = 0, last = 0;  // places in the run's work
};

// `role_at`(place in the run's work).
std::vector<Instance> instances_of(std::size_t works, base::FunctionRef<Role(std::size_t)> role_at) {
  std::vector<Instance> instances;
  std::optional<Instance> open;
  bool softmax = false;
  for (std::size_t at = 0; at < works; ++at) {
    const Role role = role_at(at);
    if (role == Role::product) {
      if (open && softmax) {
        open->last = at;
        instances.push_back(*open);
      }
      open = Instance{at, at, at};
      softmax = false;
    } else if (role == Role::softmax && open && !softmax) {
      open->softmax = at;
      softmax = true;
    } else if (role != Role::between) {
      open.reset();
      softmax = false;
    }
  }
  return instances;
}

// Bytes of one score matrix: the softmax's input by shape and type, else what a copy of it moved.
std::optional<int64_t> score_bytes(const Analysis& analysis, const ForwardRun& run,
                                   const Instance& instance) {
  const trace::Trace& trace = *analysis.trace;
  const auto ops = ops_of(analysis, run.work[instance.softmax]);
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    if (!base::contains(op_word(trace.name_of(*op)), "softmax")) continue;
    const auto shapes = input_shapes(trace, *op);
    if (shapes.empty() || !shapes.front() || shapes.front()->size() < 2) continue;
    const auto types = input_types(trace, *op);
    const auto size =
        bytes_of_type(types.empty() ? std::string_view(analysis.facts_of(run.work[instance.softmax]).dtype)
                                    : std::string_view(types[0]));
    if (size) return elements(*shapes.front()) * *size;
  }
  for (std::size_t at = instance.first + 1; at < instance.softmax; ++at) {
    const auto* detail = trace.device_detail(run.work[at]);
    if (trace.kind[run.work[at]] == trace::EventKind::memcpy && detail != nullptr && detail->bytes > 0 &&
        has_word(words_of(analysis, run.work[at]), {"masked_fill"})) {
      return detail->bytes;
    }
  }
  return std::nullopt;
}

// "matmul, mul, masked_fill, softmax, matmul": the ops of an instance, repeats once.
std::string steps_of(const Analysis& analysis, const ForwardRun& run, const Instance& instance) {
  std::vector<std::string> steps;
  for (std::size_t at = instance.first; at <= instance.last; ++at) {
    const EventId event = run.work[at];
    if (analysis.facts_of(event).family == Family::memset) continue;
    const Words ops = words_of(analysis, event);
    if (ops.empty()) continue;
    // Below SDPA's own op the steps are its children; elsewhere they are the outermost ops.
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
      if (base::contains(ops[i], "attention")) place = i + 1;
    }
    if (steps.empty() || steps.back() != ops[place]) steps.emplace_back(ops[place]);
  }
  return base::join(steps, ", ");
}

class UnfusedAttention final : public Rule {
 public:
  std::string_view id() const override { return "unfused_attention"; }
  std::string_view summary() const override {
    return "attention by separate kernels, with the score matrix in memory";
  }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    Selection between;   // the work between the products, of all instances
    Selection products;  // one event an instance: its first product
    Selection whole;
    std::vector<int64_t> score_sums;
    std::optional<int64_t> one_score;
    bool scores_told = true;
    std::string steps;  // of the first instance
    Memo around_chain(analysis.chains.size(),
                      [&](uint32_t chain) { return around_of(analysis.chains.words(chain)); });
    for (const ForwardRun& run : forward.runs) {
      auto& middle = between.runs.emplace_back();
      auto& firsts = products.runs.emplace_back();
      auto& all = whole.runs.emplace_back();
      int64_t sum = 0;
      const auto role_at = [&](std::size_t at) {
        const EventId event = run.work[at];
        return role_of(analysis.facts_of(event).family, around_chain(analysis.chains.of(event)));
      };
      const auto instances = instances_of(run.work.size(), role_at);
      if (steps.empty() && !instances.empty()) steps = steps_of(analysis, run, instances.front());
      for (const Instance& instance : instances) {
        firsts.push_back(run.work[instance.first]);
        for (std::size_t at = instance.first; at <= instance.last; ++at) {
          if (at != instance.first && at != instance.last) middle.push_back(run.work[at]);
          all.push_back(run.work[at]);
        }
        const auto bytes = score_bytes(analysis, run, instance);
        scores_told = scores_told && bytes.has_value();
        sum += bytes.value_or(0);
        if (!one_score) one_score = bytes;
      }
      score_sums.push_back(sum);
    }
    const int64_t count = median_count(products);
    if (count == 0) return {};

    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.cost_ns = median_ns(analysis, between);
    finding.claim = fmt::format("{} in separate kernels; the work between {} two products takes {}",
                                count_text(products, "attention", "attentions"), count == 1 ? "its" : "their",
                                cost_text(analysis, forward, between));
    if (scores_told && one_score) {
      finding.cost_bytes = median(score_sums);
      finding.claim += fmt::format("; {} of scores in memory", base::format_bytes(*finding.cost_bytes));
      if (count > 1) finding.claim += fmt::format(" ({} each)", base::format_bytes(*one_score));
    }
    finding.cause =
        fmt::format("{} run one after the other: each writes the score matrix, and the next reads it{}",
                    steps, place_text(analysis, analysis.timeline.launch[products.evidence().front()]));
    finding.advice =
        math_path_of(analysis, products.evidence().front()) != kNone
            ? "the dispatcher took its math path: unpin it, or give it inputs that a fused backend takes"
            : "use fused attention (`scaled_dot_product_attention`, FlashAttention): one kernel, no score "
              "matrix. Not where the weights "
              "themselves are wanted as a result, and check the tolerance: sums run in another order";
    finding.events = whole.evidence();
    return {finding};
  }
};

}  // namespace

const Rule& unfused_attention() {
  static const UnfusedAttention rule;
  return rule;
}

}  // namespace hunch::analysis::rules
