// `hunch explain TRACE`: what each forward ran, and what is surprising about it. `hunch explain DIR`: the
// same over the ranks of a job.
//
// In:  a trace file, or "-" for standard input; several files or a folder, a rank each. Out: the report of
//      all ranges, or of one (--range).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hunch/base/strings.h"
#include "hunch/cli/fail_on.h"
#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/rank_wire.h"
#include "hunch/cli/ranks.h"
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

base::Status no_such_range(const std::string& range, const std::vector<std::string_view>& names,
                           std::string_view where) {
  auto remedy = base::did_you_mean(range, names);
  return base::fail(base::ErrorCode::usage, fmt::format("--range {}: {} no such range", range, where),
                    remedy.empty() ? std::string("without --range") : std::move(remedy));
}

// Keeps the forwards of one range. Error: usage, with the ranges that there are.
base::Status keep_range(Study& study, const std::string& range) {
  auto& forwards = study.analysis.forwards;
  std::vector<std::string_view> names;
  for (const auto& forward : forwards) names.push_back(forward.range);
  if (std::find(names.begin(), names.end(), range) == names.end())
    return no_such_range(range, names, "the trace has");
  std::erase_if(forwards, [&](const auto& forward) { return forward.range != range; });
  std::erase_if(study.findings, [&](const auto& finding) { return finding.range != range; });
  return {};
}

base::Status keep_range(report::RanksReport& ranks, const std::string& range) {
  std::vector<std::string_view> names;
  for (const auto& forward : ranks.forwards) names.push_back(forward.range);
  if (std::find(names.begin(), names.end(), range) == names.end())
    return no_such_range(range, names, "the traces have");
  std::erase_if(ranks.forwards, [&](const auto& forward) { return forward.range != range; });
  std::erase_if(ranks.kernels, [&](const auto& kernel) { return kernel.row.range != range; });
  std::erase_if(ranks.findings, [&](const auto& finding) { return finding.row.finding.range != range; });
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
  return base::fail(base::ErrorCode::usage, fmt::format("--per {}: no such part of a forward", *given),
                    base::did_you_mean(*given, names));
}

base::Result<int> explain_ranks(const Arguments& arguments, const formats::ReadOptions& options,
                                const FailOn& fail_on) {
  if (arguments.has("--per"))
    return base::fail(base::ErrorCode::usage, "explain: --per is of one trace, not of several ranks",
                      "one of the files, or without --per");
  std::optional<Presentation> presentation;
  RankJob job;
  job.words = arguments.positionals;
  job.options = options;
  job.prepare = [&](bool first) -> base::Status {
    if (!first) return {};
    HUNCH_ASSIGN(presentation, Presentation::from(arguments));
    return {};
  };
  job.reduce = [](const Study& study) -> base::Result<std::string> {
    return pack(report::rank_trace(study.analysis, study.findings));
  };
  job.show = [&](ReducedRanks&& reduced) -> base::Result<int> {
    std::vector<report::RankTrace> traces;
    for (std::string& summary : reduced.summaries) {
      HUNCH_ASSIGN(report::RankTrace trace, unpack_trace(summary));
      summary = {};
      traces.push_back(std::move(trace));
    }
    report::RanksReport ranks =
        report::ranks(std::move(reduced.source), std::move(traces), std::move(reduced.skipped));
    if (const auto range = arguments.text("--range")) HUNCH_RETURN_IF_ERROR(keep_range(ranks, *range));
    bool failed = false;
    for (const report::RanksFinding& finding : ranks.findings)
      failed |= fail_on.tell({finding.row.finding},
                             fmt::format("{} (ranks {})", finding.row.finding.range,
                                         analysis::ranks_text(ranks.numbers_of(finding.ranks))));
    HUNCH_RETURN_IF_ERROR(presentation->show(std::move(ranks)));
    return failed ? kMissed : kFine;
  };
  return run_rank_job(job);
}

base::Result<int> execute(const Arguments& arguments) {
  if (arguments.positionals.empty())
    return base::fail(base::ErrorCode::usage, "explain: the trace is missing", "hunch explain trace.json.gz");
  HUNCH_ASSIGN(const report::Per per, per_of(arguments));
  HUNCH_ASSIGN(const FailOn fail_on, FailOn::from(arguments));
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  if (means_ranks(arguments.positionals)) return explain_ranks(arguments, options, fail_on);
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
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
      "zcat trace.json.gz | hunch explain -\n"
      "hunch explain runs/ddp             every trace in the folder, a rank each\n"
      "hunch explain rank0.json.gz rank1.json.gz\n"
      "mpirun -n 8 hunch explain runs/ddp",
      "hunch explain TRACE [OPTIONS]\n"
      "       hunch explain FOLDER | TRACE... [OPTIONS]",
      "TRACE is a Chrome JSON trace as PyTorch's profiler and hunch write it, plain or gzip; its bytes tell "
      "which. "
      "A device event belongs to the forward that launched it, never to the one that it happens to overlap.\n"
      "\n"
      "Several traces, or a folder of them, are the ranks of one job: their ranges are shown over the ranks, "
      "with whom the others waited for in collectives. A trace's rank is its own word, else that of its "
      "name. Under mpirun the traces are shared out over the processes.",
      {kOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
