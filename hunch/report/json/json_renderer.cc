// Each document as JSON. The fields that scripts rely on come first in each object, in the order of the
// manual; what a later version adds goes behind them.
#include "hunch/report/json/json_renderer.h"

#include <cmath>
#include <map>

#include "hunch/report/json/json_parts.h"

namespace hunch::report::json {
namespace {

void sequence(Writer& writer, const std::vector<Step>& steps) {
  writer.key("sequence");
  writer.begin_array();
  for (const Step& step : steps) {
    writer.begin_object(true);
    writer.field("kind", step.kind);
    writer.field("family", step.family);
    told(writer, "op", step.op);
    told(writer, "inner_op", step.inner_op);
    writer.field("name", step.readable);
    writer.field("device_ns", step.device_ns);
    writer.field("event", step.event);
    writer.end_object();
  }
  writer.end_array();
}

void accounting(Writer& writer, const std::optional<AccountingRow>& row) {
  writer.key("accounting");
  if (!row) {
    writer.null();
    return;
  }
  writer.begin_object();
  writer.field("run", row->run);
  for (const AccountingPart& part : row->parts) writer.field(part.name + "_ns", part.ns);
  writer.field("sum_ns", row->sum_ns);
  writer.field("wall_ns", row->wall_ns);
  writer.field("kernel_sum_ns", row->kernel_sum_ns);
  writer.field("memcpy_sum_ns", row->memcpy_sum_ns);
  writer.field("memset_sum_ns", row->memset_sum_ns);
  writer.field("overlap_ns", row->overlap_ns);
  writer.end_object();
}

void split_up(Writer& writer, const ForwardRow& forward, Per per) {
  if (per == Per::none) return;
  writer.key("per");
  writer.begin_object();
  writer.field("by", name_of(per));
  optional(writer, "run", forward.per_run > 0 ? std::optional<int64_t>(forward.per_run) : std::nullopt);
  if (per == Per::layer) writer.field("layers_by", forward.layers_by);
  writer.key("rows");
  writer.begin_array();
  for (const PerRow& row : forward.per) {
    writer.begin_object(true);
    told(writer, "name", row.name);
    if (row.calls) writer.field("calls", *row.calls);
    writer.field("kernels", row.kernels);
    writer.field("memcpy", row.memcpy);
    writer.field("memset", row.memset);
    writer.field("device_ns", row.device_ns);
    if (row.host_ns) writer.field("host_ns", *row.host_ns);
    if (row.busy_ns) writer.field("busy_ns", *row.busy_ns);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

void forward(Writer& writer, const ForwardRow& row, Per per) {
  writer.begin_object();
  writer.field("range", row.range);
  writer.field("runs", row.runs);
  work_fields(writer, row.kernels, row.memcpy, row.memset, row.device_ns, row.host_ns);
  told(writer, "backend", row.backend);
  sequence(writer, row.sequence);
  writer.field("found_by", row.found_by);
  spread(writer, "busy_ns", row.busy_ns);
  spread(writer, "peak_bytes", row.peak_bytes);
  accounting(writer, row.accounting);
  split_up(writer, row, per);
  writer.end_object();
}

// Kernels are whole unless --top was given.
std::string render(const ExplainReport& report, const Style& style) {
  return whole([&](Writer& writer) {
    writer.key("trace");
    writer.begin_object();
    writer.field("source", report.trace.source);
    writer.field("format", report.trace.format);
    told(writer, "device", report.trace.device);
    writer.field("events", report.trace.events);
    writer.field("span_ns", report.trace.span_ns);
    writer.key("metadata");
    writer.begin_object();
    for (const auto& [key, value] : report.trace.metadata) writer.field(key, value);
    writer.end_object();
    writer.end_object();
    writer.key("forwards");
    writer.begin_array();
    for (const ForwardRow& row : report.forwards) forward(writer, row, report.per);
    writer.end_array();
    writer.key("kernels");
    writer.begin_array();
    std::map<std::string_view, int> shown;
    for (const KernelRow& row : report.kernels)
      if (!style.top_given || style.top == 0 || shown[row.range]++ < style.top) {
        writer.begin_object();
        kernel_fields(writer, row, {row.calls, row.calls, row.calls},
                      {row.device_ns, row.device_ns, row.device_ns});
        writer.end_object();
      }
    writer.end_array();
    findings(writer, report.findings);
    statistics(writer, report.statistics);
  });
}

void variant(Writer& writer, const VariantRow& row) {
  writer.begin_object();
  writer.field("name", row.name);
  writer.field("available", row.available);
  writer.field("provider", row.provider);
  writer.field("backend", row.backend);
  strings(writer, "reasons", row.reasons);
  work_fields(writer, row.kernels, row.memcpy, row.memset, row.device_ns, row.host_ns);
  spread(writer, "peak_bytes", row.peak_bytes);
  occupancy(writer, row.occupancy);
  // A NaN error (a result that is not a number) has no JSON number: null, with error_ok false.
  optional(writer, "max_abs_error", row.max_abs_error);
  verdicts(writer, "guess", row.guess);
  findings(writer, row.findings);
  told(writer, "trace", row.trace_file);
  optional(writer, "error_bound", row.error_bound);
  optional(writer, "error_ok", row.error_ok);
  writer.key("first_call");
  if (row.first_call) {
    writer.begin_object(true);
    writer.field("prepare_ns", row.first_call->prepare_ns);
    optional(writer, "host_ns", row.first_call->host_ns);
    writer.end_object();
  } else {
    writer.null();
  }
  writer.end_object();
}

std::string render(const RunReport& report) {
  return whole([&](Writer& writer) {
    writer.key("device");
    writer.begin_object();
    writer.field("name", report.device_name);
    writer.field("kind", report.device_kind);
    told(writer, "features", report.device_features);
    writer.field("threads", report.threads);
    writer.end_object();
    writer.key("problem");
    writer.begin_object();
    writer.field("text", report.problem_text);
    for (const auto& [key, value] : report.problem) {
      writer.key(key);
      writer.literal(value);
    }
    writer.end_object();
    writer.key("providers");
    writer.begin_array();
    for (const auto& [name, library] : report.providers) {
      writer.begin_object(true);
      writer.field("name", name);
      told(writer, "library", library);
      writer.end_object();
    }
    writer.end_array();
    writer.key("variants");
    writer.begin_array();
    for (const VariantRow& row : report.variants) variant(writer, row);
    writer.end_array();
    writer.key("steps");
    writer.begin_object(true);
    writer.field("wait", report.wait);
    writer.field("warmup", report.warmup);
    writer.field("active", report.active);
    writer.end_object();
    writer.field("seed", report.seed);
  });
}

std::string render(const CheckReport& report) {
  return whole([&](Writer& writer) {
    writer.field("trace", report.trace);
    writer.field("guess", report.guess);
    verdicts(writer, "verdicts", report.verdicts);
    if (report.ranks > 0) {
      writer.field("ranks", report.ranks);
      strings(writer, "warnings", report.warnings);
    }
  });
}

std::string render(const DoctorReport& report) {
  return whole([&](Writer& writer) {
    writer.key("items");
    writer.begin_array();
    for (const DoctorItem& item : report.items) {
      writer.begin_object(true);
      writer.field("name", item.name);
      writer.field("status", item.status);
      writer.field("detail", item.detail);
      writer.end_object();
    }
    writer.end_array();
  });
}

std::string render(const NameReport& report) {
  return whole([&](Writer& writer) {
    writer.key("names");
    writer.begin_array();
    for (const NameRow& row : report.names) {
      writer.begin_object();
      writer.field("name", row.name);
      writer.field("readable", row.facts.readable);
      writer.field("family", analysis::name_of(row.facts.family));
      told(writer, "provider", row.facts.provider);
      told(writer, "backend", row.facts.backend);
      told(writer, "dtype", row.facts.dtype);
      optional(writer, "tensor_cores", row.facts.tensor_cores);
      told(writer, "tile", row.facts.tile);
      told(writer, "architecture", row.facts.architecture);
      optional(writer, "stages", row.facts.stages);
      writer.end_object();
    }
    writer.end_array();
  });
}

std::string render(const ExplainReport& report) { return render(report, {}); }
std::string render(const DiffReport& report) { return render_diff(report); }
std::string render(const WhyReport& report) { return render_why(report); }
std::string render(const RanksReport& report) { return render_ranks(report, {}); }

}  // namespace

std::string JsonRenderer::render(const Document& document, const Style& style) const {
  if (const auto* explained = std::get_if<ExplainReport>(&document)) return json::render(*explained, style);
  if (const auto* ranks = std::get_if<RanksReport>(&document)) return render_ranks(*ranks, style);
  return std::visit([](const auto& report) { return json::render(report); }, document);
}

}  // namespace hunch::report::json
