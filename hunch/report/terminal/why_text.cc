// What `hunch why` prints: the problem, and for each dispatcher what it takes, then its backends in the order
// of preference, each with every reason and what to change.
#include <fmt/format.h>

#include "hunch/base/strings.h"
#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {
namespace {

constexpr std::size_t kLabel = 11;

std::string where_text(const WhyDispatcher& dispatcher) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : dispatcher.where)
    if (!value.empty()) parts.push_back(key == "cudnn" ? "cuDNN " + value : value);
  return parts.empty() ? dispatcher.name : fmt::format("{} {}", dispatcher.name, base::join(parts, ", "));
}

std::string takes_text(const WhyDispatcher& dispatcher) {
  if (!dispatcher.settled) return "not established";
  return dispatcher.takes.empty() ? "nothing" : dispatcher.takes;
}

void backend(std::string& out, const Style& style, const WhyDispatcher& dispatcher, const WhyBackend& row) {
  const bool taken = dispatcher.settled && row.name == dispatcher.takes;
  const std::string state = !row.usable    ? "not established"
                            : !*row.usable ? "cannot"
                            : taken        ? "taken"
                                           : "could, but stands behind";
  const Ink ink = !row.usable ? Ink::warn : !*row.usable ? Ink::bad : taken ? Ink::good : Ink::plain;
  out += '\n';
  line(out,
       fmt::format("  {}. {}: {}", row.order, paint(style, Ink::bold, row.name), paint(style, ink, state)));
  if (!row.kernel.empty()) labelled(out, style, 5, "kernel", kLabel, row.kernel);
  for (const WhyReason& reason : row.reasons) {
    labelled(out, style, 5, reason.stand, kLabel, reason.text);
    if (!reason.change.empty()) labelled(out, style, 5, "", kLabel, "change: " + reason.change, Ink::accent);
  }
}

void dispatcher_block(std::string& out, const Style& style, const WhyDispatcher& dispatcher) {
  out += '\n';
  paragraph(out, style, 0, fmt::format("{} takes {}", where_text(dispatcher), takes_text(dispatcher)),
            Ink::accent);
  if (!dispatcher.order.empty()) labelled(out, style, 2, "order", kLabel, dispatcher.order);
  for (const std::string& note : dispatcher.notes) labelled(out, style, 2, "note", kLabel, note, Ink::warn);
  for (const WhyBackend& row : dispatcher.backends) backend(out, style, dispatcher, row);
}

}  // namespace

std::string render(const WhyReport& report, const Style& style) {
  std::string out;
  if (report.from_trace) labelled(out, style, 0, "trace", kLabel, report.source);
  for (const std::string& note : report.notes) labelled(out, style, 0, "note", kLabel, note, Ink::warn);
  for (const WhyProblem& problem : report.problems) {
    if (!out.empty()) out += '\n';
    paragraph(out, style, 0, problem.text, Ink::bold);
    if (!problem.call.empty()) labelled(out, style, 2, "calls", kLabel, problem.call);
    if (!problem.took.empty())
      labelled(out, style, 2, "took", kLabel,
               problem.took + (problem.agrees == "no" ? ", which is another" : ""),
               problem.agrees == "no" ? Ink::bad : Ink::plain);
    if (!problem.explanations.empty())
      labelled(out, style, 2, "perhaps", kLabel, base::join(problem.explanations, "; or "));
    if (!problem.gradients.empty())
      labelled(out, style, 2, "gradients", kLabel,
               fmt::format("{}: {}", problem.gradients, problem.gradients_because));
    for (const std::string& clause : problem.not_told)
      labelled(out, style, 2, "not told", kLabel, clause, Ink::warn);
    for (const WhyDispatcher& dispatcher : problem.dispatchers) dispatcher_block(out, style, dispatcher);
  }
  return out;
}

}  // namespace hunch::report::terminal
