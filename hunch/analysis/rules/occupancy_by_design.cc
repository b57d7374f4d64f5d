// occupancy_by_design: a tile kernel keeps few warps on a multiprocessor, because each holds much.
//
// Fires on attention and matrix-product kernels of at least 5 % of the forward whose occupancy, worked out
// from registers, shared memory, block and device, is under 40 % with registers or shared memory as the
// limit, where the profiler reports about the same. Silent where the reported value is a wrong 0
// (occupancy_misreported), where the grid is too small to fill the device (then the grid is the reason),
// where a field is missing, and on CPUs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"

namespace hunch::analysis::rules {
namespace {

constexpr double kLowPct = 40.0;
constexpr double kLeastSharePct = 5.0;

bool is_tile_kernel(Family family) {
  return family == Family::attention_forward || family == Family::attention_backward ||
         family == Family::matmul;
}

class OccupancyByDesign final : public Rule {
 public:
  std::string_view id() const override { return "occupancy_by_design"; }
  std::string_view summary() const override { return "low occupancy that a tile kernel is built for"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    std::map<std::string_view, Gathered> by_name;
    Occupancies occupancies(*analysis.trace);
    for (std::size_t r = 0; r < forward.runs.size(); ++r) {
      for (const EventId event : forward.runs[r].work) {
        if (!is_tile_kernel(analysis.facts_of(event).family)) continue;
        const auto* detail = analysis.trace->device_detail(event);
        if (detail == nullptr || detail->reported_occupancy_pct <= 0) continue;
        const auto& occupancy = occupancies.of(*detail);
        if (!occupancy || occupancy->theoretical_pct >= kLowPct) continue;
        if (occupancy->grid_limited_pct < 0.9 * occupancy->theoretical_pct) continue;
        if (!base::contains(occupancy->limited_by, "registers") &&
            !base::contains(occupancy->limited_by, "shared memory"))
          continue;
        by_name[analysis.trace->name_of(event)].add(r, event);
      }
    }
    std::vector<Finding> findings;
    for (const auto& [name, kernels] : by_name) {
      if (!kernels.in_most(forward.runs.size())) continue;
      const Selection selection = kernels.of_runs(forward.runs.size());
      const Ns cost = median_ns(analysis, selection);
      if (share_pct(cost, median_device_ns(forward)) < kLeastSharePct) continue;
      const EventId first = selection.evidence().front();
      const auto& detail = *analysis.trace->device_detail(first);
      const Occupancy& occupancy = *occupancies.of(detail);
      Finding finding;
      finding.rule = id();
      finding.range = forward.range;
      finding.claim = fmt::format("{} runs at {:g} % occupancy ({:.0f} % reported), {}",
                                  analysis.facts_of(first).readable, occupancy.theoretical_pct,
                                  static_cast<double>(detail.reported_occupancy_pct),
                                  cost_text(analysis, forward, selection));
      finding.cause = fmt::format(
          "{} registers x {} threads and {} bytes of shared memory a block: {} block{} a multiprocessor, "
          "limited by {}",
          detail.registers, detail.block[0] * detail.block[1] * detail.block[2], detail.shared_bytes,
          occupancy.blocks_per_multiprocessor, occupancy.blocks_per_multiprocessor == 1 ? "" : "s",
          limits_text(occupancy.limited_by));
      finding.advice =
          "nothing to repair: the kernel keeps its tiles in registers and shared memory and hides latency by "
          "its own pipeline, not by many warps. "
          "Judge it by time or FLOP/s";
      finding.events = selection.evidence();
      findings.push_back(std::move(finding));
    }
    return findings;
  }
};

}  // namespace

const Rule& occupancy_by_design() {
  static const OccupancyByDesign rule;
  return rule;
}

}  // namespace hunch::analysis::rules
