// See the header.
#include "hunch/report/ranks_merge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

namespace hunch::report {
namespace {

constexpr std::size_t kMostSlower = 3;

// Where launches differ in something, the row says nothing of it.
void agree(KernelRow& row, const KernelRow& other) {
  if (row.registers != other.registers || row.shared_bytes != other.shared_bytes || row.block != other.block)
    row.occupancy.reset();
  if (row.registers != other.registers) row.registers = -1;
  row.launched = row.launched || other.launched;
  if (row.shared_bytes != other.shared_bytes) row.shared_bytes = -1;
  if (row.block != other.block) row.block.clear();
  if (row.grid != other.grid) {
    row.grid.clear();
    if (row.occupancy) row.occupancy->grid_limited_pct.reset();
  }
}

Spread spread_of_times(const std::vector<Ns>& values) { return spread_of({values.begin(), values.end()}); }

}  // namespace

std::string without_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 10> kUnits = {" ns",  " us",  " ms",  " s",   " B",
                                                       " KiB", " MiB", " GiB", " TiB", " %"};
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    if (!digit(text[at])) {
      plain += text[at++];
      continue;
    }
    while (at < text.size() && (digit(text[at]) || ((text[at] == '.' || text[at] == ',') &&
                                                    at + 1 < text.size() && digit(text[at + 1]))))
      ++at;
    plain += '#';
    for (const std::string_view unit : kUnits) {
      if (text.substr(at, unit.size()) != unit) continue;
      const std::size_t end = at + unit.size();
      if (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) continue;
      at = end;
      break;
    }
  }
  return plain;
}

std::vector<RanksKernel> join_kernels(std::vector<RankTrace>& ranks) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  struct Joined {
    RanksKernel kernel;
    std::vector<int64_t> calls;
  };
  std::map<std::string, std::size_t> order;  // of ranges
  std::map<Key, std::size_t> index;
  std::vector<Joined> joined;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const ForwardRow& forward : ranks[rank].forwards) order.try_emplace(forward.range, order.size());
    for (KernelRow& row : ranks[rank].kernels) {
      const auto [at, fresh] =
          index.try_emplace(Key(row.range, row.name, row.kind, row.op, row.inner_op), joined.size());
      if (fresh) joined.emplace_back();
      Joined& to = joined[at->second];
      if (to.kernel.ranks.empty() || to.kernel.ranks.back() != rank) {
        to.kernel.ranks.push_back(rank);
        to.kernel.times.push_back(0);
        to.calls.push_back(0);
      }
      to.kernel.times.back() += row.device_ns;
      to.calls.back() += row.calls;
      if (fresh)
        to.kernel.row = std::move(row);
      else
        agree(to.kernel.row, row);
    }
    ranks[rank].kernels = {};
  }
  std::vector<RanksKernel> kernels;
  for (Joined& each : joined) {
    each.kernel.calls = spread_of(std::move(each.calls));
    each.kernel.device_ns = spread_of_times(each.kernel.times);
    kernels.push_back(std::move(each.kernel));
  }
  std::stable_sort(kernels.begin(), kernels.end(), [&](const RanksKernel& a, const RanksKernel& b) {
    const std::size_t x = order.at(a.row.range), y = order.at(b.row.range);
    return x != y ? x < y : a.device_ns.median > b.device_ns.median;
  });
  return kernels;
}

std::vector<RanksFinding> join_findings(std::vector<RankTrace>& ranks,
                                        const std::vector<RanksForward>& forwards) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  struct Joined {
    RanksFinding finding;
    std::vector<int64_t> ns, bytes;
  };
  std::map<Key, std::size_t> index;
  std::vector<Joined> joined;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (FindingRow& row : ranks[rank].findings) {
      const auto& finding = row.finding;
      const auto [at, fresh] = index.try_emplace(
          Key(finding.rule, finding.range, without_numbers(finding.claim), without_numbers(finding.cause)),
          joined.size());
      if (fresh) joined.emplace_back();
      Joined& to = joined[at->second];
      // Twice on one rank: two causes in the same words; both count.
      const bool again = !to.finding.ranks.empty() && to.finding.ranks.back() == rank;
      const auto add = [again](std::vector<int64_t>& values, const std::optional<int64_t>& value) {
        if (!value) return;
        if (again && !values.empty())
          values.back() += *value;
        else
          values.push_back(*value);
      };
      add(to.ns, finding.cost_ns);
      add(to.bytes, finding.cost_bytes);
      if (!again) to.finding.ranks.push_back(rank);
      const auto cost = [](const FindingRow& each) {
        return std::make_pair(each.finding.cost_ns.value_or(-1), each.finding.cost_bytes.value_or(-1));
      };
      if (fresh || cost(row) > cost(to.finding.row)) {
        to.finding.shown_rank = rank;
        to.finding.row = std::move(row);
      }
    }
    ranks[rank].findings = {};
  }
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> ranges;  // place, ranks
  for (std::size_t i = 0; i < forwards.size(); ++i) ranges[forwards[i].range] = {i, forwards[i].ranks.size()};
  std::vector<RanksFinding> findings;
  for (Joined& each : joined) {
    if (!each.ns.empty()) each.finding.cost_ns = spread_of(std::move(each.ns));
    if (!each.bytes.empty()) each.finding.cost_bytes = spread_of(std::move(each.bytes));
    const auto range = ranges.find(each.finding.row.finding.range);
    const std::size_t having = range == ranges.end() ? ranks.size() : range->second.second;
    each.finding.everywhere = each.finding.ranks.size() >= having;
    findings.push_back(std::move(each.finding));
  }
  const auto place = [&](const RanksFinding& finding) {
    const auto range = ranges.find(finding.row.finding.range);
    return range == ranges.end() ? forwards.size() : range->second.first;
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const RanksFinding& a, const RanksFinding& b) {
    if (a.everywhere != b.everywhere) return b.everywhere;
    if (place(a) != place(b)) return place(a) < place(b);
    return (a.cost_ns ? a.cost_ns->median : -1) > (b.cost_ns ? b.cost_ns->median : -1);
  });
  return findings;
}

void find_slower(const std::vector<RanksKernel>& kernels, RanksForward& forward) {
  const auto& waiting = forward.waiting;
  if (waiting.told != analysis::Waiting::Told::late) return;
  std::vector<bool> is_late(forward.ranks.size(), false);
  for (const std::size_t late : waiting.late) is_late[late] = true;
  for (const RanksKernel& kernel : kernels) {
    if (kernel.row.range != forward.range || kernel.row.family == "communication") continue;
    std::vector<int64_t> late, others;
    for (std::size_t i = 0; i < forward.ranks.size(); ++i) {
      const auto at = std::find(kernel.ranks.begin(), kernel.ranks.end(), forward.ranks[i].rank);
      (is_late[i] ? late : others)
          .push_back(at == kernel.ranks.end()
                         ? 0
                         : kernel.times[static_cast<std::size_t>(at - kernel.ranks.begin())]);
    }
    const Ns more = spread_of(std::move(late)).median - spread_of(std::move(others)).median;
    if (more > 0) forward.slower.push_back({kernel.row.readable, kernel.row.op, more});
  }
  std::stable_sort(forward.slower.begin(), forward.slower.end(),
                   [](const auto& a, const auto& b) { return a.more > b.more; });
  // Only what makes up a part worth naming.
  std::erase_if(forward.slower,
                [&](const auto& each) { return each.more * 20 < waiting.waited_more_others; });
  if (forward.slower.size() > kMostSlower) forward.slower.resize(kMostSlower);
}

}  // namespace hunch::report
