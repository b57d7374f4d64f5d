// What `hunch explain` of several ranks prints: the job in a few lines with what is missing or left out; one
// table of each range's spread over ranks; the ranks of the range with the most device time beside each
// other, and whom they waited for; findings, first those that only some ranks have; the account of events.
#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/units.h"
#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {
namespace {

using analysis::Waiting;

constexpr std::size_t kLabel = 9;
constexpr std::size_t kRangesAtOnce = 6;  // more are left out unless asked for

std::string rank_list(const std::vector<int64_t>& numbers) {
  return fmt::format("{} {}", numbers.size() == 1 ? "rank" : "ranks", analysis::ranks_text(numbers));
}

std::string pct_text(double pct) { return fmt::format("{:.0f} %", pct); }

void heading(std::string& out, const Style& style, const RanksReport& report) {
  const auto count = static_cast<int64_t>(report.ranks.size());
  std::string ranks = report.world_size
                          ? fmt::format("{} of {}", count, plural(*report.world_size, "rank", "ranks"))
                          : plural(count, "rank", "ranks");
  if (!report.backend.empty()) ranks += fmt::format(" ({})", report.backend);
  paragraph(out, style, 0, fmt::format("{}: {}", report.trace.source, ranks), Ink::bold);
  paragraph(out, style, 0,
            fmt::format("{}, {}, {}", report.trace.format,
                        report.trace.device.empty() ? "device not described" : report.trace.device,
                        plural(static_cast<int64_t>(report.trace.events), "event", "events")));
  if (!report.missing.empty())
    labelled(out, style, 0, "missing", kLabel, rank_list(report.missing), Ink::warn);
  for (const auto& each : report.doubles)
    labelled(out, style, 0, "twice", kLabel,
             fmt::format("rank {}: {} is read, {} is left out", each.rank, each.kept, each.left_out),
             Ink::warn);
  for (const SkippedFile& file : report.skipped_files)
    labelled(out, style, 0, "skipped", kLabel, fmt::format("{}: {}", file.path, file.why), Ink::dim);
  for (const std::string& warning : report.warnings)
    labelled(out, style, 0, "note", kLabel, warning, Ink::warn);
}

// The ranks that have the most of something; empty where all have the same, or too many have the most.
template <class Get>
std::string most_text(const RanksReport& report, const RanksForward& forward, Get get) {
  auto most = get(forward.ranks.front()), least = most;
  for (const RankForward& rank : forward.ranks) {
    most = std::max(most, get(rank));
    least = std::min(least, get(rank));
  }
  if (most == least) return forward.ranks.size() > 1 ? "the same" : "";
  std::vector<std::size_t> having;
  for (const RankForward& rank : forward.ranks)
    if (get(rank) == most) having.push_back(rank.rank);
  return having.size() * 2 <= forward.ranks.size() ? rank_list(report.numbers_of(having)) : "";
}

std::string odd_text(const RanksReport& report, const RanksForward& forward) {
  std::string text;
  std::size_t told = 0;
  for (const std::size_t i : forward.odd) {
    if (++told > 4) {
      text += fmt::format("; and {} more", forward.odd.size() - 4);
      break;
    }
    const RankForward& rank = forward.ranks[i];
    text +=
        fmt::format("{}rank {}: {} in {}", text.empty() ? "" : "; ", report.ranks[rank.rank].identity.rank,
                    work_text(rank.kernels, rank.memcpy, rank.memset), plural(rank.runs, "run", "runs"));
  }
  const RankForward& usual = forward.ranks[*forward.usual];
  return text + fmt::format("; the others {} in {}", work_text(usual.kernels, usual.memcpy, usual.memset),
                            plural(usual.runs, "run", "runs"));
}

void spread_rows(Table& table, const RanksReport& report, const RanksForward& forward) {
  bool first = true;
  const auto put = [&](std::string_view what, std::string least, std::string median, std::string most,
                       std::string on) {
    table.add({{first ? forward.range : "", Ink::bold},
               {std::string(what), Ink::plain},
               {std::move(least), Ink::plain},
               {std::move(median), Ink::plain},
               {std::move(most), Ink::plain},
               {std::move(on), Ink::dim}});
    first = false;
  };
  const auto row = [&](std::string_view what, const Spread& value, std::string (*format)(int64_t), auto get) {
    put(what, format(value.min), format(value.median), format(value.max), most_text(report, forward, get));
  };
  row("runs", forward.runs, base::format_count, [](const RankForward& rank) { return rank.runs; });
  row("kernels", forward.kernels, base::format_count,
      [](const RankForward& rank) { return rank.kernels.max; });
  if (forward.memcpy.max > 0)
    row("copies", forward.memcpy, base::format_count,
        [](const RankForward& rank) { return rank.memcpy.max; });
  if (forward.memset.max > 0)
    row("memsets", forward.memset, base::format_count,
        [](const RankForward& rank) { return rank.memset.max; });
  row("device time", forward.device_ns, base::format_ns,
      [](const RankForward& rank) { return rank.device_ns; });
  row("host time", forward.host_ns, base::format_ns, [](const RankForward& rank) { return rank.host_ns; });
  put("device busy", pct_text(forward.least_busy_pct), pct_text(forward.median_busy_pct),
      pct_text(forward.most_busy_pct),
      most_text(report, forward, [](const RankForward& rank) { return rank.busy_pct; }));
  if (forward.communication_ns.max > 0) {
    row("compute", forward.compute_ns, base::format_ns,
        [](const RankForward& rank) { return rank.compute_ns; });
    row("communication", forward.communication_ns, base::format_ns,
        [](const RankForward& rank) { return rank.communication_ns; });
    row("of it exposed", forward.exposed_ns, base::format_ns,
        [](const RankForward& rank) { return rank.exposed_ns; });
  }
  if (!forward.odd.empty()) table.note("odd", odd_text(report, forward));
  if (forward.ranks.size() < report.ranks.size()) {
    std::vector<std::size_t> having;
    for (const RankForward& rank : forward.ranks) having.push_back(rank.rank);
    table.note("only on", rank_list(report.numbers_of(having)));
  }
}

// The ranges that are shown: all where they are few or asked for, else those with the most device time.
std::vector<const RanksForward*> shown_ranges(const RanksReport& report, const Style& style) {
  std::vector<const RanksForward*> ranges;
  for (const RanksForward& forward : report.forwards) ranges.push_back(&forward);
  const std::size_t most = !style.top_given ? kRangesAtOnce
                           : style.top == 0 ? ranges.size()
                                            : static_cast<std::size_t>(style.top);
  if (ranges.size() <= most) return ranges;
  std::vector<const RanksForward*> by_time = ranges;
  std::stable_sort(by_time.begin(), by_time.end(), [](const RanksForward* a, const RanksForward* b) {
    return a->device_ns.median > b->device_ns.median;
  });
  by_time.resize(most);
  std::erase_if(ranges, [&](const RanksForward* each) {
    return std::find(by_time.begin(), by_time.end(), each) == by_time.end();
  });
  return ranges;
}

void spread_table(std::string& out, const Style& style, const RanksReport& report) {
  const auto ranges = shown_ranges(report, style);
  Table table({{"range", Align::left, 6, 8},
               {"in one run", Align::left, 8, 11},
               {"min", Align::right, 5},
               {"median", Align::right, 9},
               {"max", Align::right, 7},
               {"most on", Align::left, 2, 6}},
              2);
  for (const RanksForward* forward : ranges) spread_rows(table, report, *forward);
  out += '\n';
  paragraph(out, style, 0, "Over the ranks", Ink::bold);
  table.render(style, out);
  if (ranges.size() < report.forwards.size())
    paragraph(
        out, style, 2,
        fmt::format("and {} with less device time; --top 0 shows all, --range NAME one",
                    plural(static_cast<int64_t>(report.forwards.size() - ranges.size()), "range", "ranges")),
        Ink::dim);
}

void ranks_table(std::string& out, const Style& style, const RanksReport& report,
                 const RanksForward& forward) {
  const bool communicates = forward.communication_ns.max > 0;
  std::vector<const RankForward*> rows;
  for (const RankForward& rank : forward.ranks) rows.push_back(&rank);
  const std::size_t most = style.top > 0 ? static_cast<std::size_t>(style.top) : rows.size();
  const std::size_t left_out = rows.size() > most ? rows.size() - most : 0;
  if (left_out > 0) {  // those that compute longest, still by rank
    std::stable_sort(rows.begin(), rows.end(), [](const RankForward* a, const RankForward* b) {
      return a->compute_ns > b->compute_ns;
    });
    rows.resize(most);
    std::sort(rows.begin(), rows.end(),
              [](const RankForward* a, const RankForward* b) { return a->rank < b->rank; });
  }
  Table table({{"rank", Align::right, 9},
               {"device time", Align::right, 6},
               {"compute", Align::right, 8},
               {"communication", Align::right, 7},
               {"exposed", Align::right, 5},
               {"waited", Align::right, 7},
               {"idle", Align::right, 3},
               {"busy", Align::right, 2},
               {"host time", Align::right, 4},
               {"", Align::left, 1, 4}},
              2);
  for (const RankForward* rank : rows) {
    const auto index = static_cast<std::size_t>(rank - forward.ranks.data());
    const auto& late = forward.waiting.late;
    const bool is_late = std::find(late.begin(), late.end(), index) != late.end();
    const auto part = [&](Ns time) { return communicates ? base::format_ns(time) : std::string(); };
    table.add({{fmt::format("{}", report.ranks[rank->rank].identity.rank), is_late ? Ink::bad : Ink::plain},
               {base::format_ns(rank->device_ns), Ink::plain},
               {part(rank->compute_ns), Ink::plain},
               {part(rank->communication_ns), Ink::plain},
               {part(rank->exposed_ns), Ink::plain},
               {rank->waited_ns ? base::format_ns(*rank->waited_ns) : "", Ink::plain},
               {base::format_ns(rank->idle_ns), Ink::plain},
               {pct_text(rank->busy_pct), Ink::plain},
               {base::format_ns(rank->host_ns), Ink::plain},
               {is_late ? "last" : "", Ink::bad}});
  }
  out += '\n';
  paragraph(out, style, 0, fmt::format("The ranks in {}", forward.range), Ink::bold);
  table.render(style, out);
  if (left_out > 0)
    paragraph(out, style, 2,
              fmt::format("and {} that compute less; --top 0 shows all",
                          plural(static_cast<int64_t>(left_out), "rank", "ranks")),
              Ink::dim);
}

std::string cause_of_wait(const RanksForward& forward, bool one) {
  const Waiting& waiting = forward.waiting;
  const Ns half = waiting.waited_more_others / 2;
  if (waiting.compute_more >= half) {
    std::string text =
        fmt::format("{} {} longer outside of communication than the others",
                    one ? "it computes" : "they compute", base::format_ns(waiting.compute_more));
    for (std::size_t i = 0; i < forward.slower.size(); ++i) {
      const auto& each = forward.slower[i];
      text += fmt::format("{}{} +{}", i == 0 ? ": " : ", ", each.readable, base::format_ns(each.more));
    }
    return text;
  }
  if (waiting.idle_more >= half)
    return fmt::format(
        "{} no longer than the others, but {} idle {} longer: the host comes late with the work",
        one ? "it computes" : "they compute", one ? "its device is" : "their devices are",
        base::format_ns(waiting.idle_more));
  return fmt::format("neither more compute ({}) nor idle time ({}) in the same run explains it",
                     base::format_ns(waiting.compute_more), base::format_ns(waiting.idle_more));
}

void waiting_block(std::string& out, const Style& style, const RanksReport& report,
                   const RanksForward& forward) {
  const Waiting& waiting = forward.waiting;
  switch (waiting.told) {
    case Waiting::Told::no_communication:
      return;
    case Waiting::Told::not_told:
      paragraph(out, style, 2, "Who waited for whom cannot be told: " + waiting.why + ".", Ink::warn);
      return;
    case Waiting::Told::balanced:
      paragraph(out, style, 2, fmt::format("Nobody is waited for throughout: {}.", waiting.why));
      return;
    case Waiting::Told::late:
      break;
  }
  std::vector<std::size_t> late;
  for (const std::size_t i : waiting.late) late.push_back(forward.ranks[i].rank);
  const bool one = late.size() == 1;
  paragraph(out, style, 2,
            fmt::format(
                "The others wait for {}: {} a run in collectives ({} of the wall time); {} last to {} of {}.",
                rank_list(report.numbers_of(late)), base::format_ns(waiting.waited_more_others),
                share_text(waiting.waited_more_others, forward.wall_ns.median),
                one ? "it comes" : "one of them comes", base::format_count(waiting.last),
                base::format_count(waiting.collectives)),
            Ink::bad);
  labelled(out, style, 2, "because", kLabel, cause_of_wait(forward, one));
}

// Work that not every rank of the range has.
void uneven_work(std::string& out, const Style& style, const RanksReport& report,
                 const RanksForward& forward) {
  Table table({{"kernel", Align::left, 8, 16},
               {"op", Align::left, 4, 10},
               {"calls", Align::right, 3},
               {"time", Align::right, 6},
               {"only on", Align::left, 7, 8}},
              2);
  std::size_t rows = 0, left_out = 0;
  for (const RanksKernel& kernel : report.kernels) {
    if (kernel.row.range != forward.range || kernel.ranks.size() == forward.ranks.size()) continue;
    if (kernel.calls.max == 0) continue;  // in few runs of its rank only
    if (style.top > 0 && rows >= static_cast<std::size_t>(style.top)) {
      ++left_out;
      continue;
    }
    ++rows;
    table.add({{kernel.row.readable, Ink::plain},
               {std::string(op_or_none(kernel.row.op, kernel.row.launched)), Ink::plain},
               {count_text(kernel.calls), Ink::plain},
               {base::format_ns(kernel.device_ns.median), Ink::plain},
               {rank_list(report.numbers_of(kernel.ranks)), Ink::warn}});
    if (style.full_names && kernel.row.name != kernel.row.readable) table.note("", kernel.row.name);
  }
  if (table.empty()) return;
  out += '\n';
  paragraph(out, style, 0, fmt::format("Work in {} that not every rank has", forward.range), Ink::bold);
  table.render(style, out);
  if (left_out > 0)
    paragraph(out, style, 2, fmt::format("and {} more; --top 0 shows all", left_out), Ink::dim);
}

void findings(std::string& out, const Style& style, const RanksReport& report) {
  if (report.findings.empty()) return;
  out += '\n';
  paragraph(out, style, 0, "What is surprising", Ink::bold);
  std::size_t number = 0;
  for (const RanksFinding& row : report.findings) {
    const auto& finding = row.row.finding;
    const std::string mark = fmt::format("{}.", ++number);
    const std::size_t column = std::max<std::size_t>(mark.size() + 1, 4);
    std::string head = finding.rule;
    if (report.forwards.size() > 1) head += " in " + finding.range;
    if (!row.everywhere) head += fmt::format(", only on {}", rank_list(report.numbers_of(row.ranks)));
    labelled(out, style, 2, mark, column, head + ": " + finding.claim, Ink::bold);
    const auto put = [&](std::string_view label, const std::string& text) {
      if (!text.empty()) labelled(out, style, 2 + column, label, kLabel, text);
    };
    put("because", finding.cause);
    put("do", finding.advice);
    std::string cost;
    if (row.cost_ns) cost = time_text(*row.cost_ns);
    if (row.cost_bytes) cost += (cost.empty() ? "" : " and ") + bytes_text(*row.cost_bytes);
    put("costs", cost.empty() ? cost : cost + " per forward");
    const std::string seen = evidence_text(row.row.evidence, 2);
    const auto shown = report.ranks[row.shown_rank].identity.rank;
    put("seen in", seen.empty() ? seen : fmt::format("rank {}, {}", shown, seen));
  }
}

void account(std::string& out, const Style& style, const RanksReport& report) {
  const Statistics& numbers = report.statistics;
  const auto count = [](uint64_t value) { return base::format_count(static_cast<int64_t>(value)); };
  out += '\n';
  std::string text =
      fmt::format("{} read, {} skipped. {} on the devices ({}), {} of them in no range.",
                  plural(static_cast<int64_t>(numbers.events), "event", "events"),
                  numbers.skipped == 0 ? "none" : count(numbers.skipped),
                  plural(static_cast<int64_t>(numbers.device_events), "event", "events"),
                  base::format_ns(numbers.device_ns), count(numbers.unattributed_device_events));
  paragraph(out, style, 0, text, Ink::dim);
  for (const auto& [reason, skipped] : numbers.skipped_reasons)
    paragraph(out, style, 0, fmt::format("skipped: {} ({})", reason, count(skipped)), Ink::warn);
  for (const std::string& warning : numbers.warnings)
    paragraph(out, style, 0, "warning: " + warning, Ink::warn);
  if (!report.ranks.empty())
    paragraph(out, style, 0,
              fmt::format("`hunch explain {}` explains one rank in full.", report.ranks.front().trace.source),
              Ink::dim);
}

}  // namespace

std::string render(const RanksReport& report, const Style& style) {
  std::string out;
  heading(out, style, report);
  if (report.forwards.empty()) {
    paragraph(out, style, 0, "No forward found: the traces have no range, step or device work.");
  } else {
    spread_table(out, style, report);
    const auto main = std::max_element(
        report.forwards.begin(), report.forwards.end(),
        [](const RanksForward& a, const RanksForward& b) { return a.device_ns.median < b.device_ns.median; });
    ranks_table(out, style, report, *main);
    waiting_block(out, style, report, *main);
    uneven_work(out, style, report, *main);
  }
  findings(out, style, report);
  account(out, style, report);
  return out;
}

}  // namespace hunch::report::terminal
