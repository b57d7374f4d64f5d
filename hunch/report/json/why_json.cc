// What `hunch why --format json` writes: the problem, and for each dispatcher what it takes and its backends
// with their reasons. One problem is one document; a batch is one object a line, in the order of the
// problems; a trace is one document with a list of calls.
#include "hunch/report/json/json_parts.h"
#include "hunch/report/json/json_renderer.h"

namespace hunch::report::json {
namespace {

void reasons(Writer& writer, const std::vector<WhyReason>& rows) {
  writer.key("reasons");
  writer.begin_array();
  for (const WhyReason& row : rows) {
    writer.begin_object(true);
    writer.field("text", row.text);
    told(writer, "change", row.change);
    writer.field("stand", row.stand);
    writer.end_object();
  }
  writer.end_array();
}

void dispatchers(Writer& writer, const WhyProblem& problem, bool compact) {
  writer.key("dispatchers");
  writer.begin_array(compact);
  for (const WhyDispatcher& dispatcher : problem.dispatchers) {
    writer.begin_object(compact);
    writer.field("name", dispatcher.name);
    for (const auto& [key, value] : dispatcher.where) told(writer, key, value);
    told(writer, "takes", dispatcher.takes);
    writer.field("settled", dispatcher.settled);
    told(writer, "order", dispatcher.order);
    strings(writer, "notes", dispatcher.notes);
    writer.key("backends");
    writer.begin_array(compact);
    for (const WhyBackend& backend : dispatcher.backends) {
      writer.begin_object(compact);
      writer.field("name", backend.name);
      writer.field("order", backend.order);
      optional(writer, "usable", backend.usable);
      told(writer, "kernel", backend.kernel);
      reasons(writer, backend.reasons);
      writer.end_object();
    }
    writer.end_array();
    writer.end_object();
  }
  writer.end_array();
}

void problem_field(Writer& writer, const WhyProblem& problem) {
  writer.key("problem");
  writer.begin_object(true);
  for (const auto& [key, value] : problem.fields) {
    writer.key(key);
    writer.literal(value);
  }
  writer.end_object();
}

std::string line_of(const WhyProblem& problem) {
  Writer writer;
  writer.begin_object(true);
  writer.field("schema_version", kSchemaVersion);
  problem_field(writer, problem);
  dispatchers(writer, problem, true);
  writer.end_object();
  return writer.take();
}

}  // namespace

std::string render_why(const WhyReport& report) {
  if (report.lines) {
    std::string out;
    for (const WhyProblem& problem : report.problems) out += line_of(problem);
    return out;
  }
  return whole([&](Writer& writer) {
    if (!report.from_trace) {
      problem_field(writer, report.problems.front());
      dispatchers(writer, report.problems.front(), false);
      return;
    }
    writer.field("trace", report.source);
    strings(writer, "notes", report.notes);
    writer.key("calls");
    writer.begin_array();
    for (const WhyProblem& problem : report.problems) {
      writer.begin_object();
      writer.field("calls", static_cast<int64_t>(problem.events.size()));
      told(writer, "took", problem.took);
      told(writer, "agrees", problem.agrees);
      strings(writer, "explanations", problem.explanations);
      told(writer, "gradients", problem.gradients);
      told(writer, "gradients_because", problem.gradients_because);
      strings(writer, "not_told", problem.not_told);
      integers(writer, "events", problem.events);
      problem_field(writer, problem);
      dispatchers(writer, problem, false);
      writer.end_object();
    }
    writer.end_array();
  });
}

}  // namespace hunch::report::json
