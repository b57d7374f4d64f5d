// What `hunch run` prints: the problem and the device, every variant at a glance in one table, then for each
// variant how its guess fared and what its trace reveals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hunch/base/strings.h"
#include "hunch/base/units.h"
#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {
namespace {

std::string error_text(const VariantRow& row) {
  if (!row.max_abs_error) return "-";
  if (std::isnan(*row.max_abs_error)) return "NaN";
  if (row.error_ok && !*row.error_ok)
    return fmt::format("{:.2g} OVER {:.2g}", *row.max_abs_error, row.error_bound.value_or(0));
  return fmt::format("{:.2g}{}", *row.max_abs_error, row.error_ok ? " ok" : "");
}

Ink error_ink(const VariantRow& row) {
  if (!row.error_ok) return Ink::plain;
  return *row.error_ok ? Ink::plain : Ink::bad;
}

template <class Format>
std::string median_text(const std::optional<Spread>& value, Format format) {
  return value ? format(value->median) : "-";
}

void glance(std::string& out, const Style& style, const RunReport& report) {
  const bool on_cpu = report.device_kind == "cpu";  // which has no occupancy
  Table table({{"variant", Align::left, 10},
               {"kernels", Align::left, 9},
               {"device time", Align::right, 8},
               {"host time", Align::right, 5},
               {"first call", Align::right, 3},
               {"occupancy", Align::right, 2},
               {"peak memory", Align::right, 6},
               {"max error", Align::right, 4},
               {"guess", Align::left, 7}},
              0);
  for (const VariantRow& row : report.variants) {
    if (!row.available) {
      table.add({{row.name, Ink::dim},
                 {"-", Ink::dim},
                 {"-", Ink::dim},
                 {"-", Ink::dim},
                 {"-", Ink::dim},
                 {on_cpu ? "" : "-", Ink::dim},
                 {"-", Ink::dim},
                 {"-", Ink::dim},
                 {"not run", Ink::dim}});
      table.note("", "not available: " + base::join(row.reasons, "; "));
      continue;
    }
    const std::string occupancy = occupancy_text(row.occupancy);
    const Tally counts = tally(row.guess);
    table.add(
        {{row.name, Ink::bold},
         {row.kernels ? work_text(*row.kernels, row.memcpy.value_or(Spread{}), row.memset.value_or(Spread{}))
                      : "-",
          Ink::plain},
         {median_text(row.device_ns, base::format_ns), Ink::plain},
         {median_text(row.host_ns, base::format_ns), Ink::plain},
         {row.first_call ? base::format_ns(row.first_call->total_ns()) : "-", Ink::plain},
         {occupancy.empty() ? (on_cpu ? "" : "-") : occupancy, Ink::plain},
         {median_text(row.peak_bytes, base::format_bytes), Ink::plain},
         {error_text(row), error_ink(row)},
         {tally_text(counts), tally_ink(counts)}});
  }
  table.render(style, out);
  const auto dropped = table.dropped(style);
  if (!dropped.empty())
    paragraph(out, style, 0, "left out at this width: " + base::join(dropped, ", "), Ink::dim);
  paragraph(out, style, 0,
            fmt::format(
                "Per forward, the median of {}; first call is the host's time for it, with what is prepared "
                "once. Counts come from the recordings; max error is against double precision.",
                plural(report.active, "recorded forward", "recorded forwards")),
            Ink::dim);
  const bool others = std::any_of(report.variants.begin(), report.variants.end(), [](const VariantRow& row) {
    return row.available && row.provider != "native";
  });
  if (on_cpu && others)
    paragraph(
        out, style, 0,
        "PyTorch on the CPU computes in the calling thread: its host time holds its device time, and each op "
        "that computes is one kernel.",
        Ink::dim);
}

// The verdicts with each reason that is one of the findings below told by its number.
std::vector<VerdictRow> pointing_below(std::vector<VerdictRow> verdicts,
                                       const std::vector<FindingRow>& findings) {
  for (VerdictRow& row : verdicts) {
    std::string& why = row.verdict.why;
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const auto& finding = findings[i].finding;
      const std::string told = fmt::format("{}: {} ({})", finding.rule, finding.claim, finding.cause);
      const auto at = why.find(told);
      if (at != std::string::npos)
        why.replace(at, told.size(), fmt::format("{}, {} below", finding.rule, i + 1));
    }
  }
  return verdicts;
}

void details(std::string& out, const Style& style, const VariantRow& row) {
  if (!row.available || (row.guess.empty() && row.findings.empty() && row.trace_file.empty())) return;
  out += '\n';
  const Tally counts = tally(row.guess);
  std::string head = row.name;
  if (counts.total() > 0) head += fmt::format(": the guess {}", tally_text(counts));
  paragraph(out, style, 0, head, Ink::bold);
  std::vector<FindingRow> findings = row.findings;
  const auto most = style.top > 0 ? static_cast<std::size_t>(style.top) : findings.size();
  const std::size_t untold = findings.size() > most ? findings.size() - most : 0;
  findings.resize(findings.size() - untold);
  verdicts_block(out, style, 2, pointing_below(row.guess, findings), false, false);
  if (!findings.empty()) {
    paragraph(out, style, 2, "What the trace reveals", Ink::accent);
    findings_block(out, style, 4, findings, false, false);
  }
  if (untold > 0)
    paragraph(out, style, 4,
              fmt::format("and {}; --top 0 tells all",
                          plural(static_cast<int64_t>(untold), "more finding", "more findings")),
              Ink::dim);
  if (!row.trace_file.empty()) labelled(out, style, 2, "trace", 7, row.trace_file);
}

}  // namespace

std::string render(const RunReport& report, const Style& style) {
  std::string out;
  paragraph(out, style, 0, "Attention, at a glance", Ink::bold);
  const auto put = [&](std::string_view label, std::string_view text) {
    labelled(out, style, 0, label, 9, text);
  };
  put("problem", report.problem_text);
  std::string device = report.device_name;
  if (report.threads > 0) device += fmt::format(", {}", plural(report.threads, "thread", "threads"));
  if (!report.device_features.empty()) device += ", " + report.device_features;
  put("device", device);
  std::vector<std::string> providers;
  for (const auto& [name, library] : report.providers)
    if (!library.empty()) providers.push_back(fmt::format("{}: {}", name, library));
  if (!providers.empty()) put("provider", base::join(providers, "; "));
  put("steps", fmt::format("{} wait, {} warm-up, {} recorded; seed {}", report.wait, report.warmup,
                           report.active, report.seed));
  out += '\n';
  glance(out, style, report);
  for (const VariantRow& row : report.variants) details(out, style, row);
  return out;
}

}  // namespace hunch::report::terminal
