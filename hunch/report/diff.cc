// From a comparison to plain data: the traces named, and each finding with its events told.
#include <algorithm>

#include "hunch/report/report.h"

namespace hunch::report {
namespace {

std::string devices_of(const analysis::diff::Side& side) {
  std::string text;
  for (const auto& device : side.analysis->trace->devices) {
    if (text.find(device.name) != std::string::npos) continue;
    text += (text.empty() ? "" : ", ") + device.name;
  }
  return text;
}

}  // namespace

DiffReport diff(const analysis::diff::Side& before, const analysis::diff::Side& after,
                const analysis::diff::Diff& differences) {
  DiffReport report;
  report.before = before.name;
  report.after = after.name;
  report.before_device = devices_of(before);
  report.after_device = devices_of(after);
  for (const auto& forward : differences.forwards)
    report.forwards.push_back({forward, finding_rows(*after.analysis, forward.findings_appeared),
                               finding_rows(*before.analysis, forward.findings_vanished)});
  report.only_before = differences.only_before;
  report.only_after = differences.only_after;
  report.warnings = differences.warnings;
  return report;
}

}  // namespace hunch::report
