// tensor_cores_idle: a product ran on CUDA cores though its inputs were 16-bit, or in f32 where TF32 would
// do.
//
// Fires on products whose kernel's name says that it uses no Tensor Cores (sgemm, simt, ffma), on a device
// that has them. Inputs count as 16-bit where SDPA's math path casts its result back to 16 bits, or where an
// op around the launch says so by its input types. The f32 case needs 2 % of the forward, a device with TF32
// and no TF32 product anywhere in the trace: where there is one, TF32 is allowed already and the library
// chose. Silent on CPUs, and where the name does not tell.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/analysis/rules/math_paths.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::rules {
namespace {

constexpr double kLeastF32SharePct = 2.0;

// The 16-bit type of the inputs that came into the product, or empty where they were not 16-bit.
std::string_view inputs_16_bit(const Analysis& analysis, MathPaths& paths, const ForwardRun& run,
                               EventId event) {
  if (is_16_bit(analysis.facts_of(event).dtype)) return analysis.facts_of(event).dtype;
  const EventId path = math_path_of(analysis, event);
  return path == kNone ? std::string_view{} : paths.of(run, path).dtype;
}

bool any_tf32(const Analysis& analysis) {
  return std::any_of(analysis.timeline.device_order.begin(), analysis.timeline.device_order.end(),
                     [&](EventId event) { return analysis.facts_of(event).dtype == "tf32"; });
}

class TensorCoresIdle final : public Rule {
 public:
  std::string_view id() const override { return "tensor_cores_idle"; }
  std::string_view summary() const override { return "a product on CUDA cores that Tensor Cores could do"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    const trace::DeviceProperties* device = device_of(analysis, forward);
    if (device == nullptr || !device->has_sm() || device->compute_major < 7) return {};
    Selection narrow;
    Selection f32;
    std::string_view dtype;
    MathPaths paths(analysis);
    for (const ForwardRun& run : forward.runs) {
      auto& narrows = narrow.runs.emplace_back();
      auto& f32s = f32.runs.emplace_back();
      for (const EventId event : run.work) {
        const KernelFacts& facts = analysis.facts_of(event);
        if (facts.family != Family::matmul || facts.tensor_cores != false) continue;
        if (const auto type = inputs_16_bit(analysis, paths, run, event); !type.empty()) {
          narrows.push_back(event);
          dtype = type;
        } else if (facts.dtype == "f32") {
          f32s.push_back(event);
        }
      }
    }
    // Volta and Turing multiply f16 alone on Tensor Cores.
    const bool can = device->compute_major >= 8 || dtype == "f16";
    std::vector<Finding> findings;
    if (median_count(narrow) > 0 && can) {
      Finding finding = start(analysis, forward, narrow);
      finding.cause =
          fmt::format("the inputs are {} and the products run in f32 without Tensor Cores ({}){}", dtype,
                      kernels_of(analysis, narrow), launch_text(analysis, finding.events.front()));
      finding.advice =
          "use a fused backend, or keep the product's inputs in 16 bits; allowing TF32 for f32 products is "
          "the smaller step";
      findings.push_back(std::move(finding));
    }
    if (median_count(f32) > 0 && device->compute_major >= 8 && !any_tf32(analysis) &&
        share_pct(median_ns(analysis, f32), median_device_ns(forward)) >= kLeastF32SharePct) {
      Finding finding = start(analysis, forward, f32);
      finding.cause = fmt::format("products in f32 without TF32 ({}){}", kernels_of(analysis, f32),
                                  launch_text(analysis, finding.events.front()));
      finding.advice =
          "`torch.set_float32_matmul_precision(\"high\")` lets them run in TF32 on Tensor Cores: inputs are "
          "rounded to 10 bits of mantissa, so "
          "not where full f32 products are needed";
      findings.push_back(std::move(finding));
    }
    return findings;
  }

 private:
  Finding start(const Analysis& analysis, const Forward& forward, const Selection& selection) const {
    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.claim = count_text(selection, "product", "products") + " on CUDA cores, " +
                    cost_text(analysis, forward, selection);
    finding.cost_ns = median_ns(analysis, selection);
    finding.events = selection.evidence();
    return finding;
  }

  static std::string kernels_of(const Analysis& analysis, const Selection& selection) {
    std::vector<std::string> names;
    for (const EventId event : selection.evidence()) {
      const std::string& name = analysis.facts_of(event).readable;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    if (names.size() > 3) {
      const std::size_t more = names.size() - 3;
      names.resize(3);
      names.push_back(fmt::format("{} more", more));
    }
    return base::join(names, ", ");
  }
};

}  // namespace

const Rule& tensor_cores_idle() {
  static const TensorCoresIdle rule;
  return rule;
}

}  // namespace hunch::analysis::rules
