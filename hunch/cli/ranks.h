// The way from several traces to one report: files are shared out over processes (under mpirun) and threads,
// each is read, studied and reduced to its summary before the next, and the summaries come together in the
// first process, which alone prints. The result is the same for any number of processes and threads.
//
// Memory: one process alone holds at most as many traces as it has threads; under mpirun each process holds
// one at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hunch/base/result.h"
#include "hunch/cli/pipeline.h"
#include "hunch/report/report.h"

namespace hunch::cli {

// What the traces became, in the order of their names.
struct ReducedRanks {
  std::string source;                  // for people: the folder, or "a.json and 7 more"
  std::vector<std::string> summaries;  // what `reduce` made of each trace
  std::vector<report::SkippedFile> skipped;
};

struct RankJob {
  std::vector<std::string> words;  // files and folders
  formats::ReadOptions options;
  // Before anything is read, in each process: what can be wrong with the command itself.
  std::function<base::Status(bool first)> prepare;
  // In the process and thread that has the trace.
  std::function<base::Result<std::string>(const Study&)> reduce;
  // In the first process: prints, and says the exit status.
  std::function<base::Result<int>(ReducedRanks&&)> show;
};

// The exit status, the same in every process. An error is told by the first process alone, before the others
// end, and makes the status 2; of several errors it is that of the first file. A Result's error is one of the
// words or of MPI itself.
base::Result<int> run_rank_job(const RankJob& job);

// Whether these words mean several ranks: more than one, or a folder. Under a launcher each process must have
// the folder, be it empty.
bool means_ranks(const std::vector<std::string>& words);

}  // namespace hunch::cli
