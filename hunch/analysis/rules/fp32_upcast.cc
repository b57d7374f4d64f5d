// fp32_upcast: 16-bit tensors are cast to f32 before a product, which then reads twice the bytes and runs in
// f32; and, in SDPA's math path, the attention weights are cast down for a result that nobody reads.
//
// Fires inside SDPA's math path when it casts up, multiplies in f32 and casts its result down to 16 bits; and
// elsewhere on a cast whose source is known to be 16-bit (input types, or a kernel that names both types)
// when a product in f32 follows with only casts, copies, scaling and masks between. Silent on casts before a
// norm or a softmax, which are meant for precision.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/analysis/rules/math_paths.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

std::vector<std::string> types_of_launching_op(const Analysis& analysis, EventId event) {
  const EventId op = launching_op(*analysis.trace, analysis.timeline, event);
  return op == kNone ? std::vector<std::string>{} : input_types(*analysis.trace, op);
}

bool is_f32_product(const Analysis& analysis, EventId event) {
  const KernelFacts& facts = analysis.facts_of(event);
  if (facts.family != Family::matmul) return false;
  if (facts.dtype == "f32" || facts.dtype == "tf32") return true;
  if (!facts.dtype.empty()) return false;
  const auto types = types_of_launching_op(analysis, event);
  return types.size() >= 2 && types[0] == "float" && types[1] == "float";
}

// The 16-bit type that a cast to f32 reads, or empty where that is not known.
std::string_view source_of(const Analysis& analysis, EventId cast) {
  const auto types = types_of_launching_op(analysis, cast);
  if (types.size() >= 2 && types[0] == "float" && is_16_bit(types[1]))
    return types[1] == "c10::Half" ? "f16" : "bf16";
  if (types.size() >= 2) return {};
  const std::string& readable = analysis.facts_of(cast).readable;
  return readable == "cast bf16 to f32" ? "bf16" : readable == "cast f16 to f32" ? "f16" : "";
}

bool passes_values_on(Family family) {
  switch (family) {
    case Family::cast:
    case Family::copy:
    case Family::elementwise:
    case Family::masked_fill:
    case Family::where:
    case Family::mask_build:
    case Family::fill:
    case Family::memcpy:
    case Family::memset:
      return true;
    default:
      return false;
  }
}

bool product_follows(const Analysis& analysis, const ForwardRun& run, std::size_t cast) {
  for (std::size_t at = cast + 1; at < run.work.size(); ++at) {
    if (is_f32_product(analysis, run.work[at])) return true;
    if (!passes_values_on(analysis.facts_of(run.work[at]).family)) return false;
  }
  return false;
}

bool casts_up(const Analysis& analysis, MathPaths& paths, const ForwardRun& run, std::size_t at) {
  const EventId event = run.work[at];
  const KernelFacts& facts = analysis.facts_of(event);
  if (facts.family != Family::cast || facts.dtype != "f32") return false;
  const EventId path = math_path_of(analysis, event);
  if (path == kNone) return product_follows(analysis, run, at) && !source_of(analysis, event).empty();
  const MathPath& call = paths.of(run, path);
  return !call.dtype.empty() && std::any_of(call.work.begin(), call.work.end(), [&](std::size_t other) {
    return is_f32_product(analysis, run.work[other]);
  });
}

// The weights of the math path, cast down between its softmax and its last product, which reads f32.
bool casts_unread_weights(const Analysis& analysis, MathPaths& paths, const ForwardRun& run, std::size_t at) {
  const EventId event = run.work[at];
  const KernelFacts& facts = analysis.facts_of(event);
  if (facts.family != Family::cast || !is_16_bit(facts.dtype)) return false;
  const EventId path = math_path_of(analysis, event);
  if (path == kNone) return false;
  // Called by the dispatcher, which hands on the first result alone.
  const EventId caller = analysis.timeline.parent[path];
  if (caller == kNone || op_word(analysis.trace->name_of(caller)) != "scaled_dot_product_attention")
    return false;
  const MathPath& call = paths.of(run, path);
  const bool softmax = std::any_of(call.work.begin(), call.work.end(), [&](std::size_t other) {
    return other < at && analysis.facts_of(run.work[other]).family == Family::softmax;
  });
  if (!softmax || at + 1 >= run.work.size()) return false;
  return math_path_of(analysis, run.work[at + 1]) == path && is_f32_product(analysis, run.work[at + 1]);
}

std::optional<int64_t> bytes_written(const Analysis& analysis, EventId cast) {
  const EventId op = launching_op(*analysis.trace, analysis.timeline, cast);
  if (op == kNone) return std::nullopt;
  const auto shapes = input_shapes(*analysis.trace, op);
  const auto size = bytes_of_type(analysis.facts_of(cast).dtype);
  if (shapes.empty() || !shapes.front() || !size) return std::nullopt;
  return elements(*shapes.front()) * *size;
}

class Fp32Upcast final : public Rule {
 public:
  std::string_view id() const override { return "fp32_upcast"; }
  std::string_view summary() const override { return "16-bit tensors cast to f32 before a product"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    Selection up;
    Selection unread;
    MathPaths paths(analysis);
    for (const ForwardRun& run : forward.runs) {
      auto& ups = up.runs.emplace_back();
      auto& unreads = unread.runs.emplace_back();
      for (std::size_t at = 0; at < run.work.size(); ++at) {
        if (analysis.facts_of(run.work[at]).family != Family::cast) continue;
        if (casts_up(analysis, paths, run, at)) ups.push_back(run.work[at]);
        if (casts_unread_weights(analysis, paths, run, at)) unreads.push_back(run.work[at]);
      }
    }
    std::vector<Finding> findings;
    if (median_count(up) > 0) findings.push_back(upcast(analysis, forward, up));
    if (median_count(unread) > 0) findings.push_back(weights(analysis, forward, unread));
    return findings;
  }

 private:
  Finding start(const Analysis& analysis, const Forward& forward, const Selection& selection) const {
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.cost_ns = median_ns(analysis, selection);
    finding.cost_bytes =
        median_bytes(selection, [&](EventId event) { return bytes_written(analysis, event); });
    finding.events = selection.evidence();
    return finding;
  }

  Finding upcast(const Analysis& analysis, const Forward& forward, const Selection& selection) const {
    Finding finding = start(analysis, forward, selection);
    finding.claim =
        count_text(selection, "cast to f32", "casts to f32") + ", " + cost_text(analysis, forward, selection);
    if (finding.cost_bytes)
      finding.claim += fmt::format(", {} written", base::format_bytes(*finding.cost_bytes));
    const EventId first = finding.events.front();
    const auto ops = ops_of(analysis, first);
    const bool math = math_path_of(analysis, first) != kNone;
    const std::string chain = chain_text(analysis, ops);
    if (math) {
      finding.cause = fmt::format(
          "SDPA's math path computes 16-bit inputs in f32: {} launches the casts, and the products after "
          "them run in f32",
          code(chain));
      finding.advice =
          "use a fused backend, which reads 16-bit inputs and accumulates in f32 by itself. In PyTorch "
          "`torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)` keeps the math path in 16 bits, at "
          "the cost of its precision";
    } else {
      finding.cause = fmt::format("{} tensors are cast up and a product in f32 follows: {} launches the cast",
                                  source_of(analysis, first), code(chain));
      finding.advice =
          "multiply in 16 bits: the product accumulates in f32 anyway. Keep the cast where the result itself "
          "must not be rounded to 16 bits";
    }
    return finding;
  }

  Finding weights(const Analysis& analysis, const Forward& forward, const Selection& selection) const {
    Finding finding = start(analysis, forward, selection);
    finding.claim =
        fmt::format("{}, {}: the attention weights, cast down to {} for a result that nobody reads",
                    count_text(selection, "cast", "casts"), cost_text(analysis, forward, selection),
                    analysis.facts_of(finding.events.front()).dtype);
    finding.cause = fmt::format(
        "SDPA's math path returns the weights beside its result, and {} drops them; the product after the "
        "cast still "
        "reads the weights in f32",
        code(analysis.trace->name_of(
            analysis.timeline.parent[math_path_of(analysis, finding.events.front())])));
    finding.advice =
        "a fused backend makes no weights at all. Pinned to the math path, there is no switch for this cast "
        "alone";
    return finding;
  }
};

}  // namespace

const Rule& fp32_upcast() {
  static const Fp32Upcast rule;
  return rule;
}

}  // namespace hunch::analysis::rules
