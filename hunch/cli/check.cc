// `hunch check GUESS TRACE`: holds a guess against a trace, or against each rank's trace of a job.
//
// In:  a guess file or --guess words, and a trace, several, or a folder. Out: every verdict, misses first
//      with their evidence, of several ranks with the rank; exit status 1 where one misses.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "hunch/cli/output.h"
#include "hunch/cli/pipeline.h"
#include "hunch/cli/rank_wire.h"
#include "hunch/cli/ranks.h"
#include "hunch/cli/verbs.h"
#include "hunch/cli/why_not.h"

namespace hunch::cli {
namespace {

constexpr std::array<Option, 3> kOptions = {{
    {"--guess", "-g", "WORDS", "the guess in words, instead of a file: 'kernels=5 memcpy=0'", false},
    {"--explain", "", "FORMAT=FILE", "also what explain says of the trace, from the same run; repeats", true},
    {"--salvage", "", "", "read a file that is cut off as far as it goes", false},
}};

base::Error wrong_words(bool words, const std::vector<std::string>& given) {
  base::Error error;
  error.message = words           ? "check: the trace is missing"
                  : given.empty() ? std::string("check: a guess and a trace are missing")
                                  : fmt::format("check: only one of guess and trace is given ({})", given[0]);
  error.remedy =
      words ? "hunch check --guess 'kernels=5' trace.json.gz" : "hunch check guess.toml trace.json.gz";
  return error;
}

bool any_missed(const std::vector<report::VerdictRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const report::VerdictRow& row) {
    return row.verdict.outcome == guess::Outcome::misses;
  });
}

// Error: usage, with the trace's name.
base::Result<std::vector<report::VerdictRow>> judge(const guess::Guess& guess, const Study& study) {
  auto compared = guess::compare(guess, study.analysis, study.findings);
  if (compared) {
    for (guess::Verdict& verdict : *compared) {
      if (verdict.metric != "backend" || verdict.outcome != guess::Outcome::misses) continue;
      const std::string why = why_not(study.analysis, verdict.range, verdict.expected);
      if (!why.empty()) verdict.why = why + (verdict.why.empty() ? "" : "; " + verdict.why);
    }
    return report::verdict_rows(study.analysis, *compared);
  }
  base::Error error = compared.error();
  if (error.file.empty()) error.file = study.trace.source;
  return base::fail(std::move(error));
}

// Every trace counts here, also a rank's second one.
base::Result<report::CheckReport> over_ranks(const ReducedRanks& reduced) {
  report::CheckReport report;
  report.trace = reduced.source;
  std::vector<RankVerdicts> ranks;
  std::vector<analysis::RankIdentity> identities;
  for (const std::string& summary : reduced.summaries) {
    HUNCH_ASSIGN(RankVerdicts verdicts, unpack_verdicts(summary));
    identities.push_back(verdicts.identity);
    ranks.push_back(std::move(verdicts));
  }
  const analysis::RankSet set = analysis::settle_ranks(identities);
  report.ranks = static_cast<int64_t>(ranks.size());
  report.warnings = set.warnings;
  if (!set.missing.empty())
    report.warnings.push_back(fmt::format("no trace of {} {}", set.missing.size() == 1 ? "rank" : "ranks",
                                          analysis::ranks_text(set.missing)));
  for (const auto& each : set.doubles)
    report.warnings.push_back(
        fmt::format("rank {} twice: {} and {}, both are held", each.rank, each.kept, each.left_out));
  for (const auto& file : reduced.skipped)
    report.warnings.push_back(fmt::format("skipped {}: {}", file.path, file.why));
  std::vector<std::size_t> order(ranks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return identities[a].rank < identities[b].rank; });
  for (const std::size_t i : order)
    for (report::VerdictRow& row : ranks[i].verdicts) {
      row.rank = identities[i].rank;
      row.source = identities[i].path;
      report.verdicts.push_back(std::move(row));
    }
  // Misses first over all ranks, then what cannot be judged.
  const auto place = [](const report::VerdictRow& row) {
    return row.verdict.outcome == guess::Outcome::misses    ? 0
           : row.verdict.outcome == guess::Outcome::unknown ? 1
                                                            : 2;
  };
  std::stable_sort(report.verdicts.begin(), report.verdicts.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return report;
}

base::Result<int> check_ranks(const Arguments& arguments, std::vector<std::string> traces,
                              const formats::ReadOptions& options) {
  const auto words = arguments.text("--guess");
  std::optional<Presentation> presentation;
  guess::Guess guess;
  RankJob job;
  job.words = std::move(traces);
  job.options = options;
  job.prepare = [&](bool first) -> base::Status {
    if (first) {
      HUNCH_ASSIGN(presentation, Presentation::from(arguments));
    }
    HUNCH_ASSIGN(guess, words ? guess_of(*words) : guess_of_file(arguments.positionals.front()));
    return {};
  };
  job.reduce = [&](const Study& study) -> base::Result<std::string> {
    RankVerdicts verdicts;
    verdicts.identity = analysis::identify_rank(study.trace.metadata, study.trace.source);
    HUNCH_ASSIGN(verdicts.verdicts, judge(guess, study));
    return pack(verdicts);
  };
  job.show = [&](ReducedRanks&& reduced) -> base::Result<int> {
    HUNCH_ASSIGN(report::CheckReport report, over_ranks(reduced));
    report.guess = guess.source;
    const bool missed = any_missed(report.verdicts);
    HUNCH_RETURN_IF_ERROR(presentation->show(std::move(report)));
    return missed ? kMissed : kFine;
  };
  return run_rank_job(job);
}

base::Result<int> execute(const Arguments& arguments) {
  const auto words = arguments.text("--guess");
  std::vector<std::string> traces = arguments.positionals;
  if (traces.size() < (words ? 1U : 2U)) return base::fail(wrong_words(words.has_value(), traces));
  formats::ReadOptions options;
  options.salvage = arguments.has("--salvage");
  if (!words) {
    if (traces[0] == "-" && traces[1] == "-")
      return base::fail(base::ErrorCode::usage,
                        "check: standard input cannot be both the guess and the trace",
                        "a file for one of them");
    traces.erase(traces.begin());
  }
  if (means_ranks(traces)) {
    if (arguments.has("--explain"))
      return base::fail(base::ErrorCode::usage, "check: --explain is of one trace, not of several ranks",
                        "hunch explain FOLDER beside it");
    return check_ranks(arguments, std::move(traces), options);
  }
  HUNCH_ASSIGN(const Presentation presentation, Presentation::from(arguments));
  HUNCH_ASSIGN(const Presentation explained, Presentation::from(arguments, "--explain", presentation));
  // The guess first: a typo in it shows before a large trace is read.
  HUNCH_ASSIGN(const guess::Guess guess,
               words ? guess_of(*words) : guess_of_file(arguments.positionals.front()));
  HUNCH_ASSIGN(const auto study, study_file(traces.front(), options));
  report::CheckReport report;
  HUNCH_ASSIGN(report.verdicts, judge(guess, *study));
  report.trace = traces.front();
  report.guess = guess.source;
  const bool missed = any_missed(report.verdicts);
  if (!explained.empty())
    HUNCH_RETURN_IF_ERROR(explained.show(report::explain(study->analysis, study->findings)));
  HUNCH_RETURN_IF_ERROR(presentation.show(std::move(report)));
  return missed ? kMissed : kFine;
}

}  // namespace

const Command& check_command() {
  static const Command kCommand = {
      "check",
      "hold a guess against a trace; exit 1 where it misses",
      "hunch check guess.toml trace.json.gz\n"
      "hunch check --guess 'kernels=5 memcpy=0' trace.json.gz\n"
      "hunch check --guess 'backend=flash device_time=\"< 2 ms\"' trace.json.gz\n"
      "hunch check guess.toml trace.json.gz --also json=verdicts.json\n"
      "hunch check guess.toml trace.json.gz --explain json=report.json\n"
      "hunch check guess.toml runs/ddp           each rank's trace in the folder",
      "hunch check GUESS TRACE... [OPTIONS]\n"
      "       hunch check --guess WORDS TRACE... [OPTIONS]",
      "GUESS is a TOML file, short enough to write before looking:\n"
      "\n"
      "  [forward]                  # or [forward.\"attn_fwd\"], one of several ranges\n"
      "  kernels     = 5            # or \">= 1\", \"1..3\"\n"
      "  memcpy      = 0\n"
      "  sequence    = [\"matmul\", \"mul\", \"masked_fill\", \"softmax\", \"matmul\"]\n"
      "  backend     = \"flash\"\n"
      "  device_time = \"< 2 ms\"\n"
      "\n"
      "A verdict holds, misses, or is unknown where the trace does not tell; only a miss makes the status 1. "
      "Several traces, or a folder of them, are the ranks of a job: each is held against the guess.",
      {kOptions, kOutputOptions},
      execute,
  };
  return kCommand;
}

}  // namespace hunch::cli
