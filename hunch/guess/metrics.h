// The metrics that a guess can speak of. Adding one is a line in metrics.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"
#include "hunch/guess/operand.h"

namespace hunch::guess {

// A metric of one run of a range. Neither number nor text: it cannot be told, and `why` says why.
struct Measurement {
  std::optional<double> number;             // count, time (ns), bytes, percent
  std::optional<std::string> text;          // text, flag
  std::string why;                          // why unknown; else what the value is of, or empty
  std::vector<analysis::EventId> evidence;  // the events that the value comes from
};

struct Metric {
  std::string_view name;
  ValueKind kind;
  std::string_view summary;
  // Rules whose findings explain a miss of this metric, best first.
  std::vector<std::string_view> explained_by;
  // Null for "sequence", which compare() aligns itself.
  Measurement (*measure)(const analysis::Analysis&, const analysis::Forward&, const analysis::ForwardRun&);
};

std::span<const Metric> metrics();
const Metric* find_metric(std::string_view name);

}  // namespace hunch::guess
