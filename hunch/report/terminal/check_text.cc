// What `hunch check` prints: one line with the outcome, then every verdict, misses first with their evidence.
#include <fmt/format.h>

#include "hunch/report/terminal/blocks.h"
#include "hunch/report/terminal/terminal_renderer.h"

namespace hunch::report::terminal {

std::string render(const CheckReport& report, const Style& style) {
  std::string out;
  const Tally counts = tally(report.verdicts);
  std::string outcome = counts.total() == 0  ? "nothing to check"
                        : counts.misses > 0  ? fmt::format("misses {} of {}", counts.misses, counts.total())
                        : counts.unknown > 0 ? fmt::format("holds {} of {}", counts.holds, counts.total())
                                             : fmt::format("holds, all {} of it", counts.total());
  if (counts.unknown > 0) outcome += fmt::format("; {} cannot be judged", counts.unknown);
  paragraph(out, style, 0, fmt::format("{} against {}: {}", report.guess, report.trace, outcome),
            tally_ink(counts));
  if (!report.verdicts.empty()) {
    out += '\n';
    verdicts_block(out, style, 0, report.verdicts, true, true);
  }
  return out;
}

}  // namespace hunch::report::terminal
