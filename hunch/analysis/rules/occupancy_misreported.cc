// occupancy_misreported: the profiler says 0 % and means that it could not tell.
//
// Fires on kernels with a reported 0 that use more shared memory than the default limit of the device (48
// KiB) and whose occupancy, worked out with the opt-in limit and their grid, is half a percent or more.
// Silent on the real zeros of tiny grids, where a field or the device is missing, and on CPUs. It costs no
// time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hunch/analysis/rules/evidence.h"
#include "hunch/base/strings.h"
#include "hunch/base/units.h"

namespace hunch::analysis::rules {
namespace {

constexpr int64_t kDefaultSharedLimit = 49152;
constexpr double kRoundsToZeroPct = 0.5;

struct Judged {
  bool wrong = false;                    // reported as 0, and not so
  bool tiny = false;                     // reported as 0, and so: its grid is that small
  const Occupancy* occupancy = nullptr;  // where wrong
};

Judged judge(const Analysis& analysis, Occupancies& occupancies, EventId event) {
  Judged judged;
  const auto* detail = analysis.trace->device_detail(event);
  if (analysis.trace->kind[event] != trace::EventKind::kernel || detail == nullptr ||
      detail->reported_occupancy_pct != 0)
    return judged;
  const auto* device = analysis.trace->device(detail->device);
  if (device == nullptr) return judged;
  const auto& occupancy = occupancies.of(*detail);
  const int64_t limit =
      device->shared_bytes_per_block > 0 ? device->shared_bytes_per_block : kDefaultSharedLimit;
  judged.tiny = occupancy && occupancy->grid_limited_pct < kRoundsToZeroPct;
  if (!occupancy || judged.tiny || detail->shared_bytes <= limit) return judged;
  judged.wrong = true;
  judged.occupancy = &*occupancy;
  return judged;
}

class OccupancyMisreported final : public Rule {
 public:
  std::string_view id() const override { return "occupancy_misreported"; }
  std::string_view summary() const override { return "a reported occupancy of 0 % that is a wrong estimate"; }

  std::vector<Finding> evaluate(const Analysis& analysis, const Forward& forward) const override {
    Selection wrong;
    Occupancies occupancies(*analysis.trace);
    std::vector<int64_t> real_zeros;
    for (const ForwardRun& run : forward.runs) {
      auto& events = wrong.runs.emplace_back();
      int64_t real = 0;
      for (const EventId event : run.work) {
        const Judged judged = judge(analysis, occupancies, event);
        if (judged.wrong) events.push_back(event);
        if (judged.tiny) ++real;
      }
      real_zeros.push_back(real);
    }
    if (median_count(wrong) == 0) return {};

    Finding finding;
    finding.rule = id();
    finding.range = forward.range;
    finding.events = wrong.evidence();
    const EventId longest = *std::max_element(
        finding.events.begin(), finding.events.end(),
        [&](EventId a, EventId b) { return analysis.trace->duration[a] < analysis.trace->duration[b]; });
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it was judged wrong, so it has one
    const Occupancy& occupancy = *judge(analysis, occupancies, longest).occupancy;
    const auto& detail = *analysis.trace->device_detail(longest);
    const auto& device = *analysis.trace->device(detail.device);
    finding.claim = fmt::format("{} reported at 0 % occupancy wrongly: {:g} % for {}",
                                count_text(wrong, "kernel", "kernels"), occupancy.theoretical_pct,
                                analysis.facts_of(longest).readable);
    if (occupancy.grid_limited_pct < 0.9 * occupancy.theoretical_pct) {
      finding.claim += fmt::format(" ({:.1f} % with its grid)", occupancy.grid_limited_pct);
    }
    if (const auto kinds = kinds_of(analysis, finding.events); kinds > 1)
      finding.claim += fmt::format(", and {} more", kinds - 1);
    const int64_t limit =
        device.shared_bytes_per_block > 0 ? device.shared_bytes_per_block : kDefaultSharedLimit;
    finding.cause = fmt::format(
        "{} bytes of shared memory a block are more than the {} that the profiler's estimate allows, so it "
        "fits no block; with the device's opt-in "
        "limit, {} registers x {} threads: {} block{} a multiprocessor, limited by {}",
        base::format_count(detail.shared_bytes), base::format_bytes(limit), detail.registers,
        detail.block[0] * detail.block[1] * detail.block[2], occupancy.blocks_per_multiprocessor,
        occupancy.blocks_per_multiprocessor == 1 ? "" : "s", limits_text(occupancy.limited_by));
    if (const int64_t real = median(real_zeros); real > 0) {
      finding.cause +=
          fmt::format(". {} other kernel{} per forward report{} 0 % rightly: grids that small round to it",
                      real, real == 1 ? "" : "s", real == 1 ? "s" : "");
    }
    finding.advice = "read the recomputed value; it costs no time, the number alone is wrong";
    return {finding};
  }

 private:
  static std::size_t kinds_of(const Analysis& analysis, const std::vector<EventId>& events) {
    std::vector<trace::StringId> names;
    for (const EventId event : events) names.push_back(analysis.trace->name[event]);
    std::sort(names.begin(), names.end());
    return static_cast<std::size_t>(std::unique(names.begin(), names.end()) - names.begin());
  }
};

}  // namespace

const Rule& occupancy_misreported() {
  static const OccupancyMisreported rule;
  return rule;
}

}  // namespace hunch::analysis::rules
