// The lists of fields, one a struct. A collective's kind is a constant of analysis, sent as its place among
// them.
#include "hunch/cli/rank_wire.h"

#include <algorithm>
#include <array>

namespace hunch::base {
template <class Archive>
void fields(Archive& archive, Error& error) {
  archive(error.code, error.message, error.file, error.byte, error.remedy);
}
}  // namespace hunch::base

namespace hunch::analysis {

constexpr std::array<std::string_view, 5> kKinds = {"", "all_reduce", "all_gather", "reduce_scatter",
                                                    "all_to_all"};

template <class Archive>
void fields(Archive& archive, RankIdentity& identity) {
  archive(identity.path, identity.told, identity.world_size, identity.backend, identity.rank,
          identity.source);
}
template <class Archive>
void fields(Archive& archive, Collective& one) {
  auto kind = static_cast<uint8_t>(std::find(kKinds.begin() + 1, kKinds.end(), one.kind) - kKinds.begin());
  archive(kind, one.start, one.duration);
  one.kind = kKinds[kind < kKinds.size() ? kind : 0];
}
template <class Archive>
void fields(Archive& archive, RankRun& run) {
  archive(run.wall_ns, run.idle_ns, run.compute_ns, run.communication_ns, run.exposed_ns, run.collectives,
          run.other_communication);
}
template <class Archive>
void fields(Archive& archive, RankRange& range) {
  archive(range.range, range.runs);
}

namespace rules {
template <class Archive>
void fields(Archive& archive, Finding& finding) {
  archive(finding.rule, finding.range, finding.claim, finding.cause, finding.advice, finding.cost_ns,
          finding.cost_bytes, finding.events);
}
}  // namespace rules
}  // namespace hunch::analysis

namespace hunch::guess {
template <class Archive>
void fields(Archive& archive, Verdict& verdict) {
  archive(verdict.range, verdict.metric, verdict.expected, verdict.seen, verdict.outcome, verdict.why,
          verdict.events);
}
}  // namespace hunch::guess

namespace hunch::report {

template <class Archive>
void fields(Archive& archive, Spread& spread) {
  archive(spread.min, spread.median, spread.max);
}
// Without what a single trace alone shows: rank_trace has emptied it.
template <class Archive>
void fields(Archive& archive, ForwardRow& row) {
  archive(row.range, row.found_by, row.runs, row.kernels, row.memcpy, row.memset, row.device_ns, row.busy_ns,
          row.host_ns, row.peak_bytes, row.backend);
}
template <class Archive>
void fields(Archive& archive, OccupancyCell& cell) {
  archive(cell.reported_pct, cell.theoretical_pct, cell.grid_limited_pct, cell.limited_by);
}
template <class Archive>
void fields(Archive& archive, KernelRow& row) {
  archive(row.range, row.name, row.readable, row.family, row.kind, row.op, row.inner_op, row.calls,
          row.device_ns, row.registers, row.shared_bytes, row.block, row.grid, row.occupancy);
}
template <class Archive>
void fields(Archive& archive, Evidence& evidence) {
  archive(evidence.event, evidence.kind, evidence.name, evidence.op, evidence.start_ns, evidence.duration_ns);
}
template <class Archive>
void fields(Archive& archive, FindingRow& row) {
  archive(row.finding, row.events, row.evidence);
}
template <class Archive>
void fields(Archive& archive, VerdictRow& row) {
  archive(row.rank, row.source, row.verdict, row.events, row.evidence);
}
template <class Archive>
void fields(Archive& archive, TraceSummary& summary) {
  archive(summary.source, summary.format, summary.device, summary.events, summary.span_ns, summary.metadata);
}
template <class Archive>
void fields(Archive& archive, Statistics& numbers) {
  archive(numbers.events, numbers.skipped, numbers.device_events, numbers.unattributed_device_events,
          numbers.unlinked_device_events, numbers.device_ns, numbers.unattributed_device_ns,
          numbers.skipped_reasons, numbers.warnings);
}
template <class Archive>
void fields(Archive& archive, RankTrace& trace) {
  archive(trace.identity, trace.trace, trace.forwards, trace.ranges, trace.kernels, trace.findings,
          trace.statistics);
}

}  // namespace hunch::report

#include "hunch/cli/wire.h"  // after the lists: templates find them by their arguments

namespace hunch::cli {

template <class Archive>
void fields(Archive& archive, RankVerdicts& verdicts) {
  archive(verdicts.identity, verdicts.verdicts);
}

namespace {

template <class T>
std::string packed(const T& value) {
  Packer packer;
  packer(value);
  return packer.take();
}

template <class T>
base::Result<T> unpacked(std::string_view bytes) {
  T value{};
  Unpacker unpacker(bytes);
  unpacker(value);
  if (!unpacker.good())
    return base::fail(base::ErrorCode::environment, "a summary came in pieces from another process",
                      "run the same hunch in all processes");
  return value;
}

}  // namespace

std::string pack(const report::RankTrace& trace) { return packed(trace); }
std::string pack(const RankVerdicts& verdicts) { return packed(verdicts); }
std::string pack(const base::Error& error) { return packed(error); }
base::Result<report::RankTrace> unpack_trace(std::string_view bytes) {
  return unpacked<report::RankTrace>(bytes);
}
base::Result<RankVerdicts> unpack_verdicts(std::string_view bytes) { return unpacked<RankVerdicts>(bytes); }
base::Result<base::Error> unpack_error(std::string_view bytes) { return unpacked<base::Error>(bytes); }

}  // namespace hunch::cli
