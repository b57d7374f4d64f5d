// See the header.
#include "hunch/report/json/json_parts.h"

namespace hunch::report::json {

void spread(Writer& writer, std::string_view key, const Spread& value) {
  if (value.same()) {
    writer.field(key, value.median);
    return;
  }
  writer.key(key);
  writer.begin_object(true);
  writer.field("min", value.min);
  writer.field("median", value.median);
  writer.field("max", value.max);
  writer.end_object();
}

void spread(Writer& writer, std::string_view key, const std::optional<Spread>& value) {
  if (value)
    spread(writer, key, *value);
  else
    writer.key(key), writer.null();
}

// Text that is null where the source does not tell.
void told(Writer& writer, std::string_view key, std::string_view value) {
  if (value.empty())
    writer.key(key), writer.null();
  else
    writer.field(key, value);
}

void integers(Writer& writer, std::string_view key, const std::vector<int64_t>& values) {
  writer.key(key);
  writer.begin_array(true);
  for (const int64_t value : values) writer.number(value);
  writer.end_array();
}

void strings(Writer& writer, std::string_view key, const std::vector<std::string>& values) {
  writer.key(key);
  writer.begin_array(true);
  for (const auto& value : values) writer.string(value);
  writer.end_array();
}

void work_fields(Writer& writer, const std::optional<Spread>& kernels, const std::optional<Spread>& memcpy,
                 const std::optional<Spread>& memset, const std::optional<Spread>& device_ns,
                 const std::optional<Spread>& host_ns) {
  spread(writer, "kernels", kernels);
  spread(writer, "memcpy", memcpy);
  spread(writer, "memset", memset);
  spread(writer, "device_ns", device_ns);
  spread(writer, "host_ns", host_ns);
}

void occupancy(Writer& writer, const std::optional<OccupancyCell>& cell) {
  writer.key("occupancy");
  if (!cell) {
    writer.null();
    return;
  }
  writer.begin_object(true);
  optional(writer, "reported_pct", cell->reported_pct);
  optional(writer, "theoretical_pct", cell->theoretical_pct);
  told(writer, "limited_by", cell->limited_by);
  optional(writer, "grid_limited_pct", cell->grid_limited_pct);
  optional(writer, "driver_pct", cell->driver_pct);
  writer.end_object();
}

void findings(Writer& writer, const std::vector<FindingRow>& rows) {
  writer.key("findings");
  writer.begin_array();
  for (const FindingRow& row : rows) {
    writer.begin_object();
    writer.field("rule", row.finding.rule);
    writer.field("range", row.finding.range);
    writer.field("claim", row.finding.claim);
    writer.field("cause", row.finding.cause);
    writer.field("advice", row.finding.advice);
    optional(writer, "cost_ns", row.finding.cost_ns);
    optional(writer, "cost_bytes", row.finding.cost_bytes);
    integers(writer, "events", row.events);
    writer.end_object();
  }
  writer.end_array();
}

void verdicts(Writer& writer, std::string_view key, const std::vector<VerdictRow>& rows) {
  writer.key(key);
  writer.begin_array();
  for (const VerdictRow& row : rows) {
    writer.begin_object();
    if (row.rank) {
      writer.field("rank", *row.rank);
      writer.field("source", row.source);
    }
    writer.field("range", row.verdict.range);
    writer.field("metric", row.verdict.metric);
    writer.field("expected", row.verdict.expected);
    told(writer, "seen", row.verdict.seen);
    writer.field("verdict", guess::name_of(row.verdict.outcome));
    writer.field("why", row.verdict.why);
    integers(writer, "events", row.events);
    writer.end_object();
  }
  writer.end_array();
}

void kernel_fields(Writer& writer, const KernelRow& row, const Spread& calls, const Spread& device_ns) {
  writer.field("range", row.range);
  writer.field("name", row.name);
  writer.field("readable", row.readable);
  writer.field("family", row.family);
  told(writer, "op", row.op);
  spread(writer, "calls", calls);
  spread(writer, "device_ns", device_ns);
  optional(writer, "registers", row.registers >= 0 ? std::optional<int>(row.registers) : std::nullopt);
  optional(writer, "shared_bytes",
           row.shared_bytes >= 0 ? std::optional<int64_t>(row.shared_bytes) : std::nullopt);
  told(writer, "block", row.block);
  told(writer, "grid", row.grid);
  occupancy(writer, row.occupancy);
  writer.field("kind", row.kind);
  told(writer, "inner_op", row.inner_op);
}

void statistics(Writer& writer, const Statistics& numbers) {
  writer.key("statistics");
  writer.begin_object();
  writer.field("events", numbers.events);
  writer.field("skipped", numbers.skipped);
  writer.field("unattributed_device_events", numbers.unattributed_device_events);
  writer.field("device_events", numbers.device_events);
  writer.field("unlinked_device_events", numbers.unlinked_device_events);
  writer.field("device_ns", numbers.device_ns);
  writer.field("unattributed_device_ns", numbers.unattributed_device_ns);
  writer.key("skipped_reasons");
  writer.begin_object(true);
  for (const auto& [reason, count] : numbers.skipped_reasons) writer.field(reason, count);
  writer.end_object();
  strings(writer, "warnings", numbers.warnings);
  writer.end_object();
}

}  // namespace hunch::report::json
