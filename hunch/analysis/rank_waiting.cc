// Who waited for whom. A collective ends on all ranks at about the same time, after the last of them has come
// to it; so the rank whose kernel is the shortest came last, and what the others' kernels are longer by they
// waited. This holds whatever the clocks say. Whether the kernels of several files are one collective is
// tested: their ends differ by the same amount each time, which is the difference of the clocks.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "hunch/analysis/ranks.h"

namespace hunch::analysis {
namespace {

// The ends of one collective lie this close together, clocks aside. NCCL's kernels end within tens of
// microseconds of each other; groups that are not the same drift apart by what they wait.
constexpr Ns kTogether = 100'000;
constexpr double kTogetherShare = 0.1;  // or by this share of what is waited
// A wait is told from this share of a run's wall time on, by the number of runs: one run has no spread.
constexpr double kManyRunsPct = 1, kTwoRunsPct = 3, kOneRunPct = 5;
constexpr Ns kLeastWait = 20'000;
constexpr std::size_t kRunsWithOneException = 5, kManyRuns = 7;
constexpr std::size_t kFewestCollectives = 3;

using Runs = std::vector<Ns>;

Ns median(Runs values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Judge {
 public:
  explicit Judge(const std::vector<const RankRange*>& ranks)
      : ranks_(ranks), runs_(ranks.front()->runs.size()) {}

  Waiting judge() {
    if (std::none_of(ranks_.begin(), ranks_.end(), [](const RankRange* rank) { return communicates(*rank); }))
      return std::move(result_);
    result_.told = Waiting::Told::not_told;
    if (!comparable() || !end_together()) return std::move(result_);
    weigh();
    return std::move(result_);
  }

 private:
  static bool communicates(const RankRange& rank) {
    return std::any_of(rank.runs.begin(), rank.runs.end(), [](const RankRun& run) {
      return !run.collectives.empty() || run.other_communication > 0;
    });
  }

  bool not_told(std::string why) {
    result_.why = std::move(why);
    return false;
  }

  // The same collectives on each rank, in each run.
  bool comparable() {
    if (ranks_.size() < 2) return not_told("there is only one rank");
    std::size_t collectives = 0;
    for (const RankRange* rank : ranks_) {
      if (rank->runs.size() != runs_)
        return not_told(
            fmt::format("the ranks have different numbers of runs ({} and {})", runs_, rank->runs.size()));
      for (std::size_t run = 0; run < runs_; ++run) {
        const auto& first = ranks_.front()->runs[run].collectives;
        const auto& here = rank->runs[run].collectives;
        const bool same =
            std::equal(first.begin(), first.end(), here.begin(), here.end(),
                       [](const Collective& a, const Collective& b) { return a.kind == b.kind; });
        if (!same)
          return not_told(first.size() != here.size()
                              ? fmt::format("the ranks did not run the same collectives: {} and {} in run {}",
                                            first.size(), here.size(), run + 1)
                              : fmt::format("the ranks did not run the same collectives in run {}", run + 1));
        if (rank == ranks_.front()) collectives += here.size();
      }
    }
    if (collectives == 0) return not_told("its communication is of kinds that do not wait for all ranks");
    if (collectives < kFewestCollectives)
      return not_told(fmt::format("{} {} few to be sure", collectives,
                                  collectives == 1 ? "collective is too" : "collectives are too"));
    result_.collectives = static_cast<int64_t>(collectives);
    return true;
  }

  bool end_together() {
    std::vector<Ns> spreads;
    for_each([&](const std::vector<const Collective*>& each) {
      const auto [low, high] = std::minmax_element(
          each.begin(), each.end(),
          [](const Collective* a, const Collective* b) { return a->duration < b->duration; });
      spreads.push_back((*high)->duration - (*low)->duration);
    });
    const Ns allowed = std::max(
        kTogether, static_cast<Ns>(kTogetherShare * static_cast<double>(median(std::move(spreads)))));
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
      std::vector<Ns> apart;
      for_each([&](const std::vector<const Collective*>& each) {
        apart.push_back(each[rank]->end() - each[0]->end());
      });
      const Ns clocks = median(apart);
      const auto astray = std::count_if(apart.begin(), apart.end(),
                                        [&](Ns value) { return std::abs(value - clocks) > allowed; });
      // One in twenty may be a kernel that a device held up by itself.
      if (static_cast<std::size_t>(astray) * 20 > apart.size())
        return not_told(
            "the collectives of the ranks do not end together, so they may be of different groups");
    }
    return true;
  }

  // Calls visit with the same collective of all ranks.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::vector<const Collective*> each(ranks_.size());
    for (std::size_t run = 0; run < runs_; ++run)
      for (std::size_t i = 0; i < ranks_.front()->runs[run].collectives.size(); ++i) {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
          each[rank] = &ranks_[rank]->runs[run].collectives[i];
        visit(each);
      }
  }

  void weigh() {
    std::vector<Runs> waits(ranks_.size(), Runs(runs_, 0));
    std::vector<Ns> walls;
    for (std::size_t run = 0; run < runs_; ++run) {
      const std::size_t count = ranks_.front()->runs[run].collectives.size();
      for (std::size_t i = 0; i < count; ++i) {
        Ns least = INT64_MAX;
        for (const RankRange* rank : ranks_) least = std::min(least, rank->runs[run].collectives[i].duration);
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
          waits[rank][run] += ranks_[rank]->runs[run].collectives[i].duration - least;
      }
      if (count > 0) walls.push_back(ranks_.front()->runs[run].wall_ns);
    }
    // Runs without a collective say nothing.
    std::vector<std::size_t> telling;
    for (std::size_t run = 0; run < runs_; ++run)
      if (!ranks_.front()->runs[run].collectives.empty()) telling.push_back(run);
    const auto over_runs = [&](const Runs& values) {
      Runs told;
      for (const std::size_t run : telling) told.push_back(values[run]);
      return told;
    };
    for (const Runs& wait : waits) result_.waited.push_back(median(over_runs(wait)));

    const Ns floor = least_told(telling.size(), median(walls));
    const auto last = static_cast<std::size_t>(
        std::min_element(result_.waited.begin(), result_.waited.end()) - result_.waited.begin());
    std::vector<bool> is_late(ranks_.size(), false);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Runs more;
      for (const std::size_t run : telling) more.push_back(waits[rank][run] - waits[last][run]);
      if (rank == last || !apart(std::move(more), floor)) {
        is_late[rank] = true;
        result_.late.push_back(rank);
      }
    }
    if (result_.late.size() * 2 > ranks_.size()) {
      result_.told = Waiting::Told::balanced;
      result_.why = result_.late.size() == ranks_.size()
                        ? "no rank came last by more than noise"
                        : "most ranks came last together, so no single one held up the others";
      result_.late.clear();
      return;
    }
    result_.told = Waiting::Told::late;
    for_each([&](const std::vector<const Collective*>& each) {
      const auto shortest = std::min_element(
          each.begin(), each.end(),
          [](const Collective* a, const Collective* b) { return a->duration < b->duration; });
      result_.last += is_late[static_cast<std::size_t>(shortest - each.begin())] ? 1 : 0;
    });
    const auto more = [&](auto get) {
      Runs differences;
      for (const std::size_t run : telling) {
        std::vector<Ns> late, others;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
          (is_late[rank] ? late : others).push_back(get(rank, run));
        differences.push_back(median(std::move(late)) - median(std::move(others)));
      }
      return median(std::move(differences));
    };
    result_.waited_more_others = -more([&](std::size_t rank, std::size_t run) { return waits[rank][run]; });
    result_.compute_more =
        more([&](std::size_t rank, std::size_t run) { return ranks_[rank]->runs[run].compute_ns; });
    result_.idle_more =
        more([&](std::size_t rank, std::size_t run) { return ranks_[rank]->runs[run].idle_ns; });
  }

  static Ns least_told(std::size_t runs, Ns wall) {
    const double percent = runs <= 1 ? kOneRunPct : runs == 2 ? kTwoRunsPct : kManyRunsPct;
    return std::max(kLeastWait, static_cast<Ns>(percent / 100 * static_cast<double>(wall)));
  }

  // In every run, but one of five or more, and of about the same size where runs are few.
  static bool apart(Runs more, Ns floor) {
    if (more.empty()) return false;
    std::sort(more.begin(), more.end());
    const std::size_t skipped = more.size() >= kRunsWithOneException ? 1 : 0;
    const Ns least = more[skipped];
    const Ns middle = more[(more.size() - 1) / 2];
    return least > 0 && middle >= floor && (more.size() >= kManyRuns || 2 * least >= middle);
  }

  const std::vector<const RankRange*>& ranks_;
  std::size_t runs_;
  Waiting result_;
};

}  // namespace

std::string_view name_of(Waiting::Told told) {
  switch (told) {
    case Waiting::Told::no_communication:
      return "no_communication";
    case Waiting::Told::not_told:
      return "not_told";
    case Waiting::Told::balanced:
      return "balanced";
    case Waiting::Told::late:
      return "late";
  }
  return "not_told";
}

Waiting judge_waiting(const std::vector<const RankRange*>& ranks) {
  if (ranks.empty()) return {};
  return Judge(ranks).judge();
}

}  // namespace hunch::analysis
