// What `hunch explain` of several ranks writes as JSON: the fields of one trace, each value over ranks (and
// "ranks" beside what not every rank need have), then "ranks" with each rank's own, and what is wrong with
// the set. "events" of a finding are indexes into the file of "events_rank".
#include <map>

#include "hunch/report/json/json_parts.h"
#include "hunch/report/json/json_renderer.h"

namespace hunch::report::json {
namespace {

using analysis::Waiting;

void percents(Writer& writer, std::string_view key, double least, double median, double most) {
  writer.key(key);
  writer.begin_object(true);
  writer.field("min", least);
  writer.field("median", median);
  writer.field("max", most);
  writer.end_object();
}

void waiting(Writer& writer, const RanksReport& report, const RanksForward& forward) {
  const Waiting& waiting = forward.waiting;
  std::vector<std::size_t> late;
  for (const std::size_t i : waiting.late) late.push_back(forward.ranks[i].rank);
  writer.key("waiting");
  writer.begin_object();
  writer.field("verdict", analysis::name_of(waiting.told));
  told(writer, "why", waiting.why);
  integers(writer, "late_ranks", report.numbers_of(late));
  writer.field("collectives", waiting.collectives);
  writer.field("late_rank_last", waiting.last);
  writer.field("waited_for_late_ns", waiting.waited_more_others);
  writer.field("compute_more_ns", waiting.compute_more);
  writer.field("idle_more_ns", waiting.idle_more);
  writer.key("slower");
  writer.begin_array();
  for (const auto& each : forward.slower) {
    writer.begin_object(true);
    writer.field("readable", each.readable);
    told(writer, "op", each.op);
    writer.field("more_ns", each.more);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

void forward(Writer& writer, const RanksReport& report, const RanksForward& row) {
  std::vector<std::size_t> having, odd;
  for (const RankForward& rank : row.ranks) having.push_back(rank.rank);
  for (const std::size_t i : row.odd) odd.push_back(row.ranks[i].rank);
  writer.begin_object();
  writer.field("range", row.range);
  spread(writer, "runs", row.runs);
  work_fields(writer, row.kernels, row.memcpy, row.memset, row.device_ns, row.host_ns);
  writer.field("found_by", row.found_by);
  spread(writer, "busy_ns", row.busy_ns);
  spread(writer, "wall_ns", row.wall_ns);
  spread(writer, "compute_ns", row.compute_ns);
  spread(writer, "communication_ns", row.communication_ns);
  spread(writer, "exposed_communication_ns", row.exposed_ns);
  percents(writer, "busy_pct", row.least_busy_pct, row.median_busy_pct, row.most_busy_pct);
  integers(writer, "ranks", report.numbers_of(having));
  integers(writer, "odd_ranks", report.numbers_of(odd));
  waiting(writer, report, row);
  writer.end_object();
}

void rank_forwards(Writer& writer, const RanksReport& report, std::size_t rank) {
  writer.key("forwards");
  writer.begin_array();
  for (const RanksForward& forward : report.forwards) {
    for (const RankForward& row : forward.ranks) {
      if (row.rank != rank) continue;
      writer.begin_object();
      writer.field("range", forward.range);
      writer.field("runs", row.runs);
      spread(writer, "kernels", row.kernels);
      spread(writer, "memcpy", row.memcpy);
      spread(writer, "memset", row.memset);
      writer.field("device_ns", row.device_ns);
      writer.field("host_ns", row.host_ns);
      writer.field("busy_ns", row.busy_ns);
      writer.field("wall_ns", row.wall_ns);
      writer.field("idle_ns", row.idle_ns);
      writer.field("compute_ns", row.compute_ns);
      writer.field("communication_ns", row.communication_ns);
      writer.field("exposed_communication_ns", row.exposed_ns);
      optional(writer, "waited_ns", row.waited_ns);
      writer.field("busy_pct", row.busy_pct);
      writer.end_object();
    }
  }
  writer.end_array();
}

void ranks(Writer& writer, const RanksReport& report) {
  writer.key("ranks");
  writer.begin_array();
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const RankTrace& rank = report.ranks[i];
    writer.begin_object();
    writer.field("rank", rank.identity.rank);
    writer.field("rank_from", analysis::name_of(rank.identity.source));
    writer.field("source", rank.trace.source);
    writer.field("format", rank.trace.format);
    told(writer, "device", rank.trace.device);
    optional(writer, "world_size", rank.identity.world_size);
    writer.field("span_ns", rank.trace.span_ns);
    rank_forwards(writer, report, i);
    statistics(writer, rank.statistics);
    writer.end_object();
  }
  writer.end_array();
}

void finding(Writer& writer, const RanksReport& report, const RanksFinding& row) {
  const auto& finding = row.row.finding;
  writer.begin_object();
  writer.field("rule", finding.rule);
  writer.field("range", finding.range);
  writer.field("claim", finding.claim);
  writer.field("cause", finding.cause);
  writer.field("advice", finding.advice);
  spread(writer, "cost_ns", row.cost_ns);
  spread(writer, "cost_bytes", row.cost_bytes);
  integers(writer, "events", row.row.events);
  writer.field("events_rank", report.ranks[row.shown_rank].identity.rank);
  integers(writer, "ranks", report.numbers_of(row.ranks));
  writer.field("everywhere", row.everywhere);
  writer.end_object();
}

}  // namespace

std::string render_ranks(const RanksReport& report, const Style& style) {
  return whole([&](Writer& writer) {
    writer.key("trace");
    writer.begin_object();
    writer.field("source", report.trace.source);
    writer.field("format", report.trace.format);
    told(writer, "device", report.trace.device);
    writer.field("events", report.trace.events);
    writer.field("span_ns", report.trace.span_ns);
    writer.end_object();
    writer.key("forwards");
    writer.begin_array();
    for (const RanksForward& row : report.forwards) forward(writer, report, row);
    writer.end_array();
    writer.key("kernels");
    writer.begin_array();
    std::map<std::string_view, int> shown;
    for (const RanksKernel& kernel : report.kernels) {
      if (style.top_given && style.top > 0 && shown[kernel.row.range]++ >= style.top) continue;
      writer.begin_object();
      kernel_fields(writer, kernel.row, kernel.calls, kernel.device_ns);
      integers(writer, "ranks", report.numbers_of(kernel.ranks));
      writer.end_object();
    }
    writer.end_array();
    writer.key("findings");
    writer.begin_array();
    for (const RanksFinding& row : report.findings) finding(writer, report, row);
    writer.end_array();
    statistics(writer, report.statistics);
    ranks(writer, report);
    optional(writer, "world_size", report.world_size);
    told(writer, "backend", report.backend);
    integers(writer, "missing_ranks", report.missing);
    writer.key("duplicate_ranks");
    writer.begin_array();
    for (const auto& each : report.doubles) {
      writer.begin_object(true);
      writer.field("rank", each.rank);
      writer.field("kept", each.kept);
      writer.field("left_out", each.left_out);
      writer.end_object();
    }
    writer.end_array();
    writer.key("skipped_files");
    writer.begin_array();
    for (const SkippedFile& file : report.skipped_files) {
      writer.begin_object(true);
      writer.field("path", file.path);
      writer.field("why", file.why);
      writer.end_object();
    }
    writer.end_array();
    strings(writer, "warnings", report.warnings);
  });
}

}  // namespace hunch::report::json
