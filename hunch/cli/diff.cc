// `hunch diff BEFORE AFTER`: what appeared, vanished and changed between two traces, and why.
//
// In:  two trace files, one of them perhaps "-". Out: the report of all ranges in common, or of the two that
//      --range names; exit status 1 where a condition of --fail-on holds.
#include <fmt/format.h>

#include "hunch/analysis/diff/diff.h"
#include "hunch/cli/diff_conditions.h"
#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/verbs.h"

namespace hunch::cli {
namespace {

constexpr std::array<Option, 5> kOptions = {{
    {"--range", "-r", "NAME", "only this range; BEFORE=AFTER where its name differs", false},
    {"--fail-on", "", "LIST", "exit 1 where one of these holds, such as slower=5%,kernels,backend", true},
    {"--top", "-n", "COUNT", "differences shown of each range (20); 0 shows all", false},
    {"--full-names", "", "", "also the kernels' names as the traces have them", false},
    {"--salvage", "", "", "read a file that is cut off as far as it goes", false},
}};

base::Result<int> execute(const Arguments& arguments) {
  const auto& given = arguments.positionals;
  if (given.size() != 2) {
    const std::string what = given.empty()       ? "diff: two traces are missing"
                             : given.size() == 1 ? fmt::format("diff: only one trace is given ({})", given[0])
                                                 : fmt::format("diff: two traces, not {}", given.size());
    return base::fail(base::ErrorCode::usage, what, "hunch diff before.json.gz after.json.gz");
  }
  if (given[0] == "-" && given[1] == "-")
    return base::fail(base::ErrorCode::usage, "diff: standard input cannot be both traces",
                      "a file for one of them");
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  // The conditions first: a typo in them shows before a large trace is read.
  HUNCH_ASSIGN(const auto conditions, parse_diff_conditions(arguments.all("--fail-on")));
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  HUNCH_ASSIGN(const auto before, study_file(given[0], options));
  HUNCH_ASSIGN(const auto after, study_file(given[1], options));
  const auto name = [](const std::string& path) { return path == "-" ? "standard input" : path; };
  const analysis::diff::Side sides[2] = {{&before->analysis, &before->findings, name(given[0])},
                                         {&after->analysis, &after->findings, name(given[1])}};
  HUNCH_ASSIGN(const auto differences,
               analysis::diff::compare(sides[0], sides[1], arguments.text("--range").value_or("")));
  report::DiffReport report = report::diff(sides[0], sides[1], differences);
  HUNCH_ASSIGN(report.failures, failed_conditions(conditions, report));
  const bool failed = !report.failures.empty();
  HUNCH_RETURN_IF_ERROR(presentation.show(std::move(report)));
  return failed ? kMissed : kFine;
}

}  // namespace

const Command& diff_command() {
  static const Command kCommand = {
      "diff",
      "two traces: what appeared, vanished, got slower, and why",
      "hunch diff before.json.gz after.json.gz   what changed, and why\n"
      "hunch diff eager.json sdpa.json --range forward --top 0\n"
      "hunch diff a.json b.json --range attn_fwd=sdpa_fwd\n"
      "hunch diff main.json branch.json --fail-on slower=5%,kernels,backend",
      "hunch diff BEFORE AFTER [OPTIONS]",
      "Ranges of the same name are compared; where each trace has only one, these two. Within a range the "
      "work "
      "is aligned in launch order, by op and family. A time differs only where it does so beyond the scatter "
      "of the runs; with one run only a large difference is told, as such.\n"
      "\n"
      "Conditions of --fail-on, several separated by commas:\n"
      "  slower, slower=5%     device time grew beyond noise (and by more than 5 %)\n"
      "  host_slower, memory   the same of host time and peak memory\n"
      "  kernels, copies, memsets   there are more of them\n"
      "  appeared, vanished    work, or a range, that the other trace has not\n"
      "  backend, dtype        another one; tensor_cores: work that left them\n"
      "  findings              a finding is new; a rule's name: a finding of that rule\n"
      "  any                   anything differs beyond noise",
      {kOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
