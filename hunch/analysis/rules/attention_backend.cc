// attention_backend: which backend each attention call took, and what its inputs say about the others.
//
// Fires on ops that stand for one backend of scaled_dot_product_attention (or of flash-attn) and launched
// work, and on kernels whose name tells a backend where no such op is around. What else could have run is
// said only as far as shapes, types and the device in the trace settle it. Silent without attention.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hunch/analysis/attention_ops.h"
#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::rules {
namespace {

bool is_backward(std::string_view text) {
  return base::contains(text, "ackward") || base::contains(text, "bwd");
}

struct Call {
  std::string backend;
  EventId op = kNone;  // kNone: told by the kernel alone
};

// What the ops around a launch tell of the attention call that it belongs to.
struct CallingOp {
  std::size_t place = 0;  // in the chain
  std::string_view backend;
  bool backward = false;
};

std::optional<CallingOp> calling_op(const Analysis& analysis, uint32_t chain) {
  const auto names = analysis.chains.names(chain);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = analysis.trace->strings.view(names[i]);
    const auto backend = attention_backend_of_op(name);
    if (!backend.empty()) return CallingOp{i, backend, is_backward(name)};
  }
  return std::nullopt;
}

// What the inputs of SDPA's call tell: shapes of query and key, the type, whether there is a mask.
struct Inputs {
  Shape query;
  std::string type;
  bool mask = false;
};

std::optional<Inputs> inputs_of(const Analysis& analysis, EventId op) {
  for (EventId at = op; at != kNone; at = analysis.timeline.parent[at]) {
    if (op_word(analysis.trace->name_of(at)) != "scaled_dot_product_attention") continue;
    const auto shapes = input_shapes(*analysis.trace, at);
    const auto types = input_types(*analysis.trace, at);
    if (shapes.size() < 4 || types.empty() || !shapes[0] || shapes[0]->size() < 3) return std::nullopt;
    return Inputs{*shapes[0], types[0], shapes[3] && !shapes[3]->empty()};
  }
  return std::nullopt;
}

std::string others_text(const trace::Trace& trace, const Call& call, const std::optional<Inputs>& inputs,
                        const trace::DeviceProperties* device, std::string_view dtype) {
  if (trace.metadata.count("hunch_variant") > 0)
    return "`hunch run` runs every variant on the same problem, and says why one cannot";
  if (!inputs) {
    if (call.backend == "efficient" && dtype == "f32") {
      return "with f32 inputs it is the only fused backend: flash and cuDNN take 16-bit inputs alone";
    }
    return "the trace has no shapes (record_shapes=True records them), so what else would have taken it is "
           "not told";
  }
  // Which backends exist, and from which architecture on, is settled for NVIDIA's devices alone.
  const std::string shapes = fmt::format("query {} {}, {}", shape_text(inputs->query), inputs->type,
                                         inputs->mask ? "with a mask" : "no mask tensor");
  if (device == nullptr || !device->has_sm() || device->compute_major < 8) {
    return shapes + "; what else takes it depends on the device. `torch.nn.attention.sdpa_kernel` pins one";
  }
  const int64_t head_dim = inputs->query.back();
  std::vector<std::string> able;
  std::vector<std::string> unable;
  const auto judge = [&](std::string_view backend, const std::string& refusal) {
    if (backend == call.backend) return;
    if (refusal.empty()) {
      able.emplace_back(backend);
    } else {
      unable.push_back(fmt::format("{} not ({})", backend, refusal));
    }
  };
  const bool narrow = is_16_bit(inputs->type);
  judge("flash", !narrow          ? "16-bit inputs only"
                 : inputs->mask   ? "no mask but is_causal"
                 : head_dim > 256 ? "head_dim up to 256"
                                  : "");
  judge("efficient", narrow || inputs->type == "float" ? "" : "16-bit or f32 inputs only");
  judge("cudnn", !narrow          ? "16-bit inputs only"
                 : head_dim > 128 ? "head_dim above 128 on some versions only"
                                  : "");
  std::string text = shapes + ": ";
  text += able.empty() ? std::string("no other fused backend takes it")
                       : fmt::format("by shape and type {} would take it too", base::join(able, " and "));
  if (!unable.empty()) text += "; " + base::join(unable, ", ");
  return text + ". `torch.nn.attention.sdpa_kernel` pins one";
}

class AttentionBackend final : public Rule {
 public:
  std::string_view id() const override { return "attention_backend"; }
  std::string_view summary() const override { return "which backend each attention call took"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    struct Group {
      Selection work;
      std::vector<std::vector<EventId>> calls;  // ops, by run; each at least once
      std::vector<int64_t> kernels_alone;       // told by a kernel, by run
      Call first;
    };
    std::map<std::pair<bool, std::string>, Group> groups;
    const std::size_t runs = forward.runs.size();
    const auto group_of = [&](bool backward, std::string_view backend, EventId op) -> Group& {
      auto [at, fresh] = groups.try_emplace({backward, std::string(backend)});
      Group& group = at->second;
      if (fresh) {
        group.first = Call{std::string(backend), op};
        group.work.runs.resize(runs);
        group.calls.resize(runs);
        group.kernels_alone.resize(runs);
      }
      return group;
    };
    Memo call_of(analysis.chains.size(), [&](uint32_t chain) { return calling_op(analysis, chain); });
    for (std::size_t r = 0; r < runs; ++r) {
      for (const EventId event : forward.runs[r].work) {
        if (const auto& call = call_of(analysis.chains.of(event))) {
          const EventId op = op_at(analysis, event, call->place);
          Group& group = group_of(call->backward, call->backend, op);
          group.work.runs[r].push_back(event);
          group.calls[r].push_back(op);
          continue;
        }
        const KernelFacts& facts = analysis.facts_of(event);
        if (facts.backend.empty()) continue;
        const bool backward = facts.family == Family::attention_backward;
        Group& group = group_of(backward, facts.backend, kNone);
        group.work.runs[r].push_back(event);
        if (backward || facts.family == Family::attention_forward) ++group.kernels_alone[r];
      }
    }
    std::vector<Finding> findings;
    for (auto& [key, group] : groups) {
      std::vector<int64_t> counts;
      for (std::size_t r = 0; r < runs; ++r) {
        auto& calls = group.calls[r];
        std::sort(calls.begin(), calls.end());
        const auto end = std::unique(calls.begin(), calls.end());
        counts.push_back(static_cast<int64_t>(end - calls.begin()) + group.kernels_alone[r]);
      }
      const int64_t count = median(counts);
      if (count == 0) continue;
      const bool by_kernel = group.first.op == kNone;
      Finding finding;
      finding.rule = id();
      finding.range = forward.range;
      finding.claim =
          fmt::format("{} {}attention {}{} per forward took {}: {}", count, key.first ? "backward " : "",
                      by_kernel ? "kernel" : "call", count == 1 ? "" : "s", key.second,
                      cost_text(analysis, forward, group.work));
      finding.events = group.work.evidence();
      finding.cost_ns = median_ns(analysis, group.work);
      const EventId longest = *std::max_element(
          finding.events.begin(), finding.events.end(),
          [&](EventId a, EventId b) { return analysis.trace->duration[a] < analysis.trace->duration[b]; });
      const KernelFacts& facts = analysis.facts_of(longest);
      finding.cause = by_kernel ? fmt::format("told by the kernel's name: {}", facts.readable)
                                : fmt::format("{} launches {}", code(analysis.trace->name_of(group.first.op)),
                                              facts.readable);
      finding.advice = key.first ? "the backward pass takes the backend of its forward"
                                 : others_text(*analysis.trace, group.first,
                                               group.first.op == kNone ? std::nullopt
                                                                       : inputs_of(analysis, group.first.op),
                                               device_of(analysis, forward), facts.dtype);
      findings.push_back(std::move(finding));
    }
    return findings;
  }
};

}  // namespace

const Rule& attention_backend() {
  static const AttentionBackend rule;
  return rule;
}

}  // namespace hunch::analysis::rules
