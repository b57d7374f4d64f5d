// What ranks of one job have in common, and which of them the others waited for.
//
// In:  an Analysis of each rank's trace, one at a time; what is kept of it is small. Out: where the time of
//      each run went (compute, communication, idle), and a judgement over all ranks of one range.
// Holds: nothing of one rank is joined with another by an id of a file (correlation, stream, pid): only by
//      the name of the range, the number of the run and the order of its collectives. Times are compared as
//      durations; clocks of ranks need not agree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/analysis/analysis.h"

namespace hunch::analysis {

// A kernel of communication in which every rank needs data of every other (all-reduce, all-gather,
// reduce-scatter, all-to-all), so that it ends only after the last rank has come to it.
struct Collective {
  std::string_view kind;  // "all_reduce", ...; a constant
  Ns start = 0;           // by the clock of its own rank
  Ns duration = 0;
  Ns end() const { return start + duration; }
};

// One run on one rank.
struct RankRun {
  Ns wall_ns = 0;                       // from the range's start to its end or that of its last device work
  Ns idle_ns = 0;                       // of it: no device that the run uses worked
  Ns compute_ns = 0;                    // some work of the run other than communication ran; overlaps once
  Ns communication_ns = 0;              // some communication of the run ran; overlaps once
  Ns exposed_ns = 0;                    // communication, and nothing else of the run beside it
  std::vector<Collective> collectives;  // in launch order
  int64_t other_communication = 0;      // kernels of communication that are no such collective
};

// One range of one rank, runs in order.
struct RankRange {
  std::string range;
  std::vector<RankRun> runs;
};

RankRange rank_range(const Analysis& analysis, const Forward& forward);

// The steps of a profiler's schedule as a forward, where ranges of other names stand before them and so
// `analysis.forwards` has no steps. Its runs have counts and times, and no memory; backend is empty.
std::optional<Forward> steps_beside_ranges(const Analysis& analysis);

// Whether one range's ranks waited for some of them in collectives.
struct Waiting {
  enum class Told { no_communication, not_told, balanced, late };
  Told told = Told::no_communication;
  std::string why;  // not_told, balanced: a clause for people

  // For balanced and late, by rank (in the order given), medians over the runs:
  std::vector<Ns> waited;         // in collectives, for the last of the ranks
  std::vector<std::size_t> late;  // the ranks that came last: they waited less than each other one, beyond
                                  // noise; at most half of all
  int64_t collectives = 0;        // over all runs, of one rank
  int64_t last = 0;               // of these: a late rank came last
  // How much more of each the late ranks had in one run than the others (medians).
  Ns waited_more_others = 0;  // what the others waited for them
  Ns compute_more = 0;
  Ns idle_more = 0;
};
std::string_view name_of(Waiting::Told told);  // "no_communication", "not_told", "balanced", "late"

// All ranks that have the range; fewer than two are not_told. The judgement is sure or it is not made: every
// rank must run the same collectives in each run, these must end together on all ranks (up to one difference
// of clocks a rank), and the late ranks must be late in every run, by more than noise.
Waiting judge_waiting(const std::vector<const RankRange*>& ranks);

}  // namespace hunch::analysis
