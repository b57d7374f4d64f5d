// From one rank's Analysis to what is kept of it, and from the ranks to one report of a job: ranges with
// their spread over ranks, whose counts are odd, who waited for whom, work and findings that ranks share.
// Ranges of ranks are joined by name, never by an id of a file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "hunch/report/ranks_merge.h"
#include "hunch/report/report.h"

namespace hunch::report {
namespace {

using analysis::RankRun;

Ns median_of(const std::vector<RankRun>& runs, Ns RankRun::*part) {
  std::vector<int64_t> values;
  for (const RankRun& run : runs) values.push_back(run.*part);
  return spread_of(std::move(values)).median;
}

RankForward rank_forward(std::size_t rank, const ForwardRow& row, const analysis::RankRange& range) {
  RankForward result;
  result.rank = rank;
  result.runs = row.runs;
  result.kernels = row.kernels;
  result.memcpy = row.memcpy;
  result.memset = row.memset;
  result.device_ns = row.device_ns.median;
  result.host_ns = row.host_ns.median;
  result.busy_ns = row.busy_ns.median;
  result.wall_ns = median_of(range.runs, &RankRun::wall_ns);
  result.idle_ns = median_of(range.runs, &RankRun::idle_ns);
  result.compute_ns = median_of(range.runs, &RankRun::compute_ns);
  result.communication_ns = median_of(range.runs, &RankRun::communication_ns);
  result.exposed_ns = median_of(range.runs, &RankRun::exposed_ns);
  // Of the run with the median share, so that it is one that occurred.
  std::vector<double> shares;
  for (const RankRun& run : range.runs)
    if (run.wall_ns > 0)
      shares.push_back(100.0 * (1.0 - static_cast<double>(run.idle_ns) / static_cast<double>(run.wall_ns)));
  std::sort(shares.begin(), shares.end());
  if (!shares.empty()) result.busy_pct = shares[(shares.size() - 1) / 2];
  return result;
}

template <class Get>
Spread over_ranks(const std::vector<RankForward>& ranks, Get get) {
  std::vector<int64_t> values;
  for (const RankForward& rank : ranks) values.push_back(get(rank));
  return spread_of(std::move(values));
}

// Least and most over ranks and runs; the median rank's median.
Spread counts_of(const std::vector<RankForward>& ranks, Spread RankForward::*count) {
  Spread result = over_ranks(ranks, [&](const RankForward& rank) { return (rank.*count).median; });
  for (const RankForward& rank : ranks) {
    result.min = std::min(result.min, (rank.*count).min);
    result.max = std::max(result.max, (rank.*count).max);
  }
  return result;
}

void find_odd(RanksForward& forward) {
  const auto counts = [](const RankForward& rank) {
    std::vector<int64_t> all = {rank.runs};
    for (const Spread& count : {rank.kernels, rank.memcpy, rank.memset})
      all.insert(all.end(), {count.min, count.median, count.max});
    return all;
  };
  std::map<std::vector<int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < forward.ranks.size(); ++i) groups[counts(forward.ranks[i])].push_back(i);
  const auto largest = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (largest == groups.end() || largest->second.size() * 2 <= forward.ranks.size()) return;
  forward.usual = largest->second.front();
  for (std::size_t i = 0; i < forward.ranks.size(); ++i)
    if (counts(forward.ranks[i]) != largest->first) forward.odd.push_back(i);
}

void summarise(RanksForward& forward, const std::vector<const analysis::RankRange*>& ranges) {
  const auto& ranks = forward.ranks;
  forward.runs = over_ranks(ranks, [](const RankForward& rank) { return rank.runs; });
  forward.kernels = counts_of(ranks, &RankForward::kernels);
  forward.memcpy = counts_of(ranks, &RankForward::memcpy);
  forward.memset = counts_of(ranks, &RankForward::memset);
  const std::pair<Spread RanksForward::*, Ns RankForward::*> times[] = {
      {&RanksForward::device_ns, &RankForward::device_ns},
      {&RanksForward::host_ns, &RankForward::host_ns},
      {&RanksForward::busy_ns, &RankForward::busy_ns},
      {&RanksForward::wall_ns, &RankForward::wall_ns},
      {&RanksForward::compute_ns, &RankForward::compute_ns},
      {&RanksForward::communication_ns, &RankForward::communication_ns},
      {&RanksForward::exposed_ns, &RankForward::exposed_ns}};
  for (const auto& [to, from] : times)
    forward.*to = over_ranks(ranks, [from = from](const RankForward& rank) { return rank.*from; });
  std::vector<double> busy;
  for (const RankForward& rank : ranks) busy.push_back(rank.busy_pct);
  std::sort(busy.begin(), busy.end());
  forward.least_busy_pct = busy.front();
  forward.median_busy_pct = busy[(busy.size() - 1) / 2];
  forward.most_busy_pct = busy.back();
  find_odd(forward);
  forward.waiting = analysis::judge_waiting(ranges);
  for (std::size_t i = 0; i < forward.waiting.waited.size(); ++i)
    forward.ranks[i].waited_ns = forward.waiting.waited[i];
}

std::vector<RanksForward> join_ranges(const std::vector<RankTrace>& ranks) {
  std::vector<RanksForward> forwards;
  std::vector<std::vector<const analysis::RankRange*>> ranges;
  std::map<std::string_view, std::size_t> index;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].forwards.size(); ++i) {
      const ForwardRow& row = ranks[rank].forwards[i];
      const auto [at, fresh] = index.try_emplace(row.range, forwards.size());
      if (fresh) {
        forwards.emplace_back();
        forwards.back().range = row.range;
        forwards.back().found_by = row.found_by;
        ranges.emplace_back();
      }
      forwards[at->second].ranks.push_back(rank_forward(rank, row, ranks[rank].ranges[i]));
      ranges[at->second].push_back(&ranks[rank].ranges[i]);
    }
  }
  for (std::size_t i = 0; i < forwards.size(); ++i) summarise(forwards[i], ranges[i]);
  return forwards;
}

TraceSummary job_of(std::string source, const std::vector<RankTrace>& ranks) {
  TraceSummary job;
  job.source = std::move(source);
  std::set<std::string> formats;
  std::map<std::string, std::vector<int64_t>> devices;
  for (const RankTrace& rank : ranks) {
    formats.insert(rank.trace.format);
    devices[rank.trace.device].push_back(rank.identity.rank);
    job.events += rank.trace.events;
    job.span_ns = std::max(job.span_ns, rank.trace.span_ns);
  }
  for (const std::string& format : formats) job.format += (job.format.empty() ? "" : ", ") + format;
  for (const auto& [device, numbers] : devices) {
    if (!job.device.empty()) job.device += "; ";
    if (devices.size() == 1)
      job.device = device;
    else
      job.device += fmt::format("{} {}: {}", numbers.size() == 1 ? "rank" : "ranks",
                                analysis::ranks_text(numbers), device.empty() ? "not said" : device);
  }
  return job;
}

Statistics sum_of(const std::vector<RankTrace>& ranks) {
  Statistics sum;
  std::map<std::string, uint64_t> reasons;
  for (const RankTrace& rank : ranks) {
    const Statistics& each = rank.statistics;
    sum.events += each.events;
    sum.skipped += each.skipped;
    sum.device_events += each.device_events;
    sum.unattributed_device_events += each.unattributed_device_events;
    sum.unlinked_device_events += each.unlinked_device_events;
    sum.device_ns += each.device_ns;
    sum.unattributed_device_ns += each.unattributed_device_ns;
    for (const auto& [reason, count] : each.skipped_reasons) reasons[reason] += count;
    for (const std::string& warning : each.warnings)
      sum.warnings.push_back(fmt::format("rank {}: {}", rank.identity.rank, warning));
  }
  sum.skipped_reasons.assign(reasons.begin(), reasons.end());
  return sum;
}

}  // namespace

RankTrace rank_trace(const analysis::Analysis& analysis,
                     const std::vector<analysis::rules::Finding>& findings) {
  RankTrace result;
  ExplainReport report = explain(analysis, findings);
  result.identity = analysis::identify_rank(analysis.trace->metadata, analysis.trace->source);
  result.trace = std::move(report.trace);
  result.trace.metadata.clear();
  result.forwards = std::move(report.forwards);
  for (ForwardRow& row : result.forwards) {
    row.sequence.clear();
    row.accounting.reset();
  }
  for (const auto& forward : analysis.forwards)
    result.ranges.push_back(analysis::rank_range(analysis, forward));
  result.kernels = std::move(report.kernels);
  if (const auto steps = analysis::steps_beside_ranges(analysis)) {
    result.forwards.push_back(forward_row(*steps));
    result.ranges.push_back(analysis::rank_range(analysis, *steps));
    for (KernelRow& row : kernel_rows(analysis, *steps)) result.kernels.push_back(std::move(row));
  }
  result.findings = std::move(report.findings);
  result.statistics = std::move(report.statistics);
  return result;
}

RanksReport ranks(std::string source, std::vector<RankTrace> traces, std::vector<SkippedFile> skipped) {
  RanksReport report;
  std::vector<analysis::RankIdentity> identities;
  for (const RankTrace& trace : traces) identities.push_back(trace.identity);
  analysis::RankSet set = analysis::settle_ranks(identities);
  for (const std::size_t i : set.order) {
    report.ranks.push_back(std::move(traces[i]));
    report.ranks.back().identity = identities[i];
  }
  report.trace = job_of(std::move(source), report.ranks);
  report.world_size = set.world_size;
  report.backend = std::move(set.backend);
  report.missing = std::move(set.missing);
  report.doubles = std::move(set.doubles);
  report.skipped_files = std::move(skipped);
  report.warnings = std::move(set.warnings);
  report.forwards = join_ranges(report.ranks);
  report.kernels = join_kernels(report.ranks);
  for (RanksForward& forward : report.forwards) find_slower(report.kernels, forward);
  report.findings = join_findings(report.ranks, report.forwards);
  report.statistics = sum_of(report.ranks);
  return report;
}

std::vector<int64_t> RanksReport::numbers_of(const std::vector<std::size_t>& indices) const {
  std::vector<int64_t> numbers;
  for (const std::size_t index : indices) numbers.push_back(ranks[index].identity.rank);
  return numbers;
}

}  // namespace hunch::report
