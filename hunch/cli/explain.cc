// `hunch explain TRACE`: what each forward ran, and what is surprising about it.
//
// In:  a trace file, or "-" for standard input. Out: the report of all ranges, or of one (--range).
#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/strings.h"
#include "hunch/cli/fail_on.h"
#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/verbs.h"

namespace hunch::cli {
namespace {

constexpr std::array<Option, 6> kOptions = {{
    {"--range", "-r", "NAME", "only the forwards of this range, and what was found in them", false},
    {"--top", "-n", "COUNT", "rows of long tables (20); 0 shows all", false},
    {"--per", "", "WHAT", "op, layer or step: a table of these instead of what each forward ran", false},
    {"--fail-on", "", "RULES", "exit 1 where one of these rules has a finding; any: whatever rule", true},
    {"--full-names", "", "", "also the kernels' names as the trace has them", false},
    {"--salvage", "", "", "read a file that is cut off as far as it goes", false},
}};

// Keeps the forwards of one range. Error: usage, with the ranges that there are.
base::Status keep_range(Study& study, const std::string& range) {
  auto& forwards = study.analysis.forwards;
  std::vector<std::string_view> names;
  for (const auto& forward : forwards) names.push_back(forward.range);
  if (std::find(names.begin(), names.end(), range) == names.end()) {
    const auto close = base::closest(range, names);
    return base::fail(base::ErrorCode::usage, fmt::format("--range {}: the trace has no such range", range),
                      !close.empty()  ? fmt::format("did you mean {}?", close)
                      : names.empty() ? std::string("without --range")
                                      : fmt::format("one of {}", fmt::join(names, ", ")));
  }
  std::erase_if(forwards, [&](const auto& forward) { return forward.range != range; });
  std::erase_if(study.findings, [&](const auto& finding) { return finding.range != range; });
  return {};
}

// Error: usage, with the words that there are.
base::Result<report::Per> per_of(const Arguments& arguments) {
  const auto given = arguments.text("--per");
  if (!given) return report::Per::none;
  std::vector<std::string_view> names;
  for (const auto per : {report::Per::op, report::Per::layer, report::Per::step}) {
    names.push_back(report::name_of(per));
    if (*given == names.back()) return per;
  }
  const auto close = base::closest(*given, names);
  return base::fail(
      base::ErrorCode::usage, fmt::format("--per {}: no such part of a forward", *given),
      close.empty() ? std::string("op, layer or step") : fmt::format("did you mean {}?", close));
}

base::Result<int> execute(const Arguments& arguments) {
  if (arguments.positionals.size() != 1)
    return base::fail(base::ErrorCode::usage,
                      arguments.positionals.empty()
                          ? "explain: the trace is missing"
                          : fmt::format("explain: one trace at a time, not {}", arguments.positionals.size()),
                      "hunch explain trace.json.gz");
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  HUNCH_ASSIGN(const report::Per per, per_of(arguments));
  HUNCH_ASSIGN(const FailOn fail_on, FailOn::from(arguments));
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  HUNCH_ASSIGN(const auto study, study_file(arguments.positionals.front(), options));
  if (const auto range = arguments.text("--range")) HUNCH_RETURN_IF_ERROR(keep_range(*study, *range));
  HUNCH_RETURN_IF_ERROR(presentation.show(report::explain(study->analysis, study->findings, per)));
  return fail_on.tell(study->findings) ? kMissed : kFine;
}

}  // namespace

const Command& explain_command() {
  static const Command kCommand = {
      "explain",
      "read a trace and say what each forward ran and what is surprising",
      "hunch explain trace.json.gz        what a trace holds, and what surprises\n"
      "hunch explain trace.json --range attn_fwd --full-names\n"
      "hunch explain trace.json.gz --per op --format markdown\n"
      "hunch explain trace.json.gz --fail-on hidden_copy,host_sync   for CI\n"
      "hunch explain trace.json.gz --format json -o report.json\n"
      "zcat trace.json.gz | hunch explain -",
      "hunch explain TRACE [OPTIONS]",
      "TRACE is a Chrome JSON trace as PyTorch's profiler and hunch write it, plain or gzip; its bytes tell "
      "which. "
      "A device event belongs to the forward that launched it, never to the one that it happens to overlap.",
      {kOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
