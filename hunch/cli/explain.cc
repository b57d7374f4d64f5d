// `hunch explain TRACE`: what each forward ran, and what is surprising about it.
//
// In:  a trace file, or "-" for standard input. Out: the report of all ranges, or of one (--range).
#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/strings.h"
#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/verbs.h"

namespace hunch::cli {
namespace {

constexpr std::array<Option, 4> kOptions = {{
    {"--range", "-r", "NAME", "only the forwards of this range, and what was found in them", false},
    {"--top", "-n", "COUNT", "rows of long tables (20); 0 shows all", false},
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

base::Result<int> execute(const Arguments& arguments) {
  if (arguments.positionals.size() != 1)
    return base::fail(base::ErrorCode::usage,
                      arguments.positionals.empty()
                          ? "explain: the trace is missing"
                          : fmt::format("explain: one trace at a time, not {}", arguments.positionals.size()),
                      "hunch explain trace.json.gz");
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  HUNCH_ASSIGN(const auto study, study_file(arguments.positionals.front(), options));
  if (const auto range = arguments.text("--range")) HUNCH_RETURN_IF_ERROR(keep_range(*study, *range));
  HUNCH_RETURN_IF_ERROR(presentation.show(report::explain(study->analysis, study->findings)));
  return kFine;
}

}  // namespace

const Command& explain_command() {
  static const Command kCommand = {
      "explain",
      "read a trace and say what each forward ran and what is surprising",
      "hunch explain trace.json.gz        what a trace holds, and what surprises\n"
      "hunch explain trace.json --range attn_fwd --full-names\n"
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
