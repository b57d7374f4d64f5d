// Problems as headings, dispatchers as tables with a row for each reason. In: the report. Out: Markdown,
// escaped. Holds: a backend's name stands in the first of its rows alone.
#include "hunch/report/markdown/why_markdown.h"

#include <fmt/format.h>

#include "hunch/base/strings.h"
#include "hunch/report/markdown/markdown_table.h"

namespace hunch::report::markdown {

std::string why(const WhyReport& report) {
  std::string out;
  for (const std::string& note : report.notes) out += fmt::format("{}\n\n", escaped(note));
  for (const WhyProblem& problem : report.problems) {
    out += fmt::format("{}# {}\n", out.empty() ? "" : "\n", escaped(problem.text));
    if (!problem.call.empty())
      out += fmt::format("\n{}{}\n", escaped(problem.call),
                         problem.took.empty() ? "" : fmt::format(", took **{}**", escaped(problem.took)));
    if (!problem.explanations.empty())
      out += fmt::format("\nperhaps {}\n", escaped(base::join(problem.explanations, "; or ")));
    if (!problem.gradients.empty())
      out +=
          fmt::format("\ngradients {}: {}\n", escaped(problem.gradients), escaped(problem.gradients_because));
    for (const std::string& clause : problem.not_told)
      out += fmt::format("\nnot told: {}\n", escaped(clause));
    for (const WhyDispatcher& dispatcher : problem.dispatchers) {
      std::string where;
      for (const auto& [key, value] : dispatcher.where)
        if (!value.empty()) where += fmt::format(", {} {}", key, value);
      const std::string takes = !dispatcher.settled        ? "not established"
                                : dispatcher.takes.empty() ? "nothing"
                                                           : dispatcher.takes;
      out += fmt::format("\n## {}{}: takes **{}**\n\n", escaped(dispatcher.name), escaped(where),
                         escaped(takes));
      for (const std::string& note : dispatcher.notes) out += fmt::format("{}\n\n", escaped(note));
      Table table({"order", "backend", "usable", "reason", "what to change"});
      for (const WhyBackend& backend : dispatcher.backends) {
        bool first = true;
        for (const WhyReason& reason : backend.reasons) {
          table.add({first ? fmt::format("{}", backend.order) : "", first ? escaped(backend.name) : "",
                     !first            ? ""
                     : !backend.usable ? "not established"
                     : *backend.usable ? "yes"
                                       : "no",
                     escaped(reason.text), escaped(reason.change)});
          first = false;
        }
      }
      if (!table.empty()) out += table.text();
      for (const WhyBackend& backend : dispatcher.backends)
        if (!backend.kernel.empty())
          out += fmt::format("\n{} launches `{}`\n", escaped(backend.name), backend.kernel);
    }
  }
  return out;
}

}  // namespace hunch::report::markdown
