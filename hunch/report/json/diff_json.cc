// What `hunch diff --format json` writes. Each value has its number before and after (of the representative
// run, the one with the median device time) and their difference; "items" adds up to the difference of
// device_ns, and "account" says how.
#include "hunch/report/json/json_parts.h"
#include "hunch/report/json/json_renderer.h"

namespace hunch::report::json {
namespace {

using analysis::diff::ForwardDiff;
using analysis::diff::Item;
using analysis::diff::ItemKind;
using analysis::diff::Sample;

void sample(Writer& writer, std::string_view key, const Sample& value) {
  writer.key(key);
  writer.begin_object(true);
  writer.field("value", value.value);
  writer.field("min", value.min);
  writer.field("median", value.median);
  writer.field("max", value.max);
  writer.field("runs", value.runs);
  writer.end_object();
}

void totals(Writer& writer, const ForwardDiff& forward) {
  writer.key("totals");
  writer.begin_object();
  for (const auto& total : forward.totals) {
    writer.key(total.name);
    writer.begin_object();
    sample(writer, "before", total.before);
    sample(writer, "after", total.after);
    writer.field("difference", total.after.median - total.before.median);
    writer.field("verdict", analysis::diff::name_of(total.verdict.judgement));
    writer.field("one_run", total.verdict.one_run);
    writer.end_object();
  }
  writer.end_object();
}

void item(Writer& writer, const Item& one) {
  writer.begin_object();
  writer.field("change", one.kind != ItemKind::paired ? analysis::diff::name_of(one.kind)
                         : one.told()                 ? std::string_view("changed")
                                                      : std::string_view("same"));
  told(writer, "op", one.op);
  writer.field("family", one.family);
  writer.field("kind", one.work);
  told(writer, "before_name", one.before_name);
  told(writer, "after_name", one.after_name);
  writer.field("calls", one.calls);
  writer.field("before_ns", one.before.value);
  writer.field("after_ns", one.after.value);
  writer.field("difference_ns", one.difference());
  if (one.kind == ItemKind::paired) {
    writer.field("verdict", analysis::diff::name_of(one.time.judgement));
    writer.field("one_run", one.time.one_run);
  } else {
    writer.key("verdict"), writer.null();
    writer.key("one_run"), writer.null();
  }
  writer.key("facts");
  writer.begin_array();
  for (const auto& change : one.changes) {
    writer.begin_object(true);
    writer.field("fact", change.fact);
    writer.field("before", change.before);
    writer.field("after", change.after);
    writer.end_object();
  }
  writer.end_array();
  writer.key("reasons");
  writer.begin_array();
  for (const auto& reason : one.reasons) {
    writer.begin_object(true);
    told(writer, "rule", reason.rule);
    writer.field("text", reason.text);
    writer.end_object();
  }
  writer.end_array();
  sample(writer, "before_runs", one.before);
  sample(writer, "after_runs", one.after);
  told(writer, "before_full_name", one.before_full);
  told(writer, "after_full_name", one.after_full);
  integers(writer, "before_events", one.before_events);
  integers(writer, "after_events", one.after_events);
  writer.end_object();
}

void findings(Writer& writer, std::string_view key, const std::vector<FindingRow>& rows) {
  writer.key(key);
  writer.begin_array();
  for (const FindingRow& row : rows) {
    writer.begin_object();
    writer.field("rule", row.finding.rule);
    writer.field("claim", row.finding.claim);
    writer.field("cause", row.finding.cause);
    integers(writer, "events", row.events);
    writer.end_object();
  }
  writer.end_array();
}

void forward(Writer& writer, const DiffForward& row) {
  const ForwardDiff& diff = row.diff;
  writer.begin_object();
  writer.field("before_range", diff.before_range);
  writer.field("after_range", diff.after_range);
  writer.field("before_runs", diff.before_runs);
  writer.field("after_runs", diff.after_runs);
  told(writer, "before_backend", diff.before_backend);
  told(writer, "after_backend", diff.after_backend);
  writer.field("unchanged", diff.unchanged());
  totals(writer, diff);
  writer.key("account");
  writer.begin_object(true);
  writer.field("appeared_ns", diff.account.appeared);
  writer.field("vanished_ns", diff.account.vanished);
  writer.field("changed_ns", diff.account.changed);
  writer.field("within_noise_ns", diff.account.within_noise);
  writer.field("sum_ns", diff.account.sum());
  writer.end_object();
  writer.key("items");
  writer.begin_array();
  for (const Item& one : diff.items) item(writer, one);
  writer.end_array();
  findings(writer, "findings_appeared", row.appeared);
  findings(writer, "findings_vanished", row.vanished);
  strings(writer, "warnings", diff.warnings);
  writer.end_object();
}

void side(Writer& writer, std::string_view key, const std::string& source, const std::string& device) {
  writer.key(key);
  writer.begin_object(true);
  writer.field("source", source);
  told(writer, "device", device);
  writer.end_object();
}

}  // namespace

std::string render_diff(const DiffReport& report) {
  Writer writer;
  writer.begin_object();
  writer.field("schema_version", 1);
  side(writer, "before", report.before, report.before_device);
  side(writer, "after", report.after, report.after_device);
  writer.key("forwards");
  writer.begin_array();
  for (const DiffForward& row : report.forwards) forward(writer, row);
  writer.end_array();
  strings(writer, "only_before", report.only_before);
  strings(writer, "only_after", report.only_after);
  strings(writer, "warnings", report.warnings);
  writer.key("failures");
  writer.begin_array();
  for (const auto& failure : report.failures) {
    writer.begin_object(true);
    writer.field("condition", failure.condition);
    writer.field("what", failure.what);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return writer.take();
}

}  // namespace hunch::report::json
