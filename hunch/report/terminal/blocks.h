// The pieces that several documents share: counts, spreads, occupancy in a cell, findings, verdicts,
// evidence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/report/report.h"
#include "hunch/report/terminal/layout.h"

namespace hunch::report::terminal {

// "5", "5..7".
std::string count_text(const Spread& count);
// "5 + 1 copy (+ 1 memset)": the three counts, those that are zero in all runs left out after the first.
std::string work_text(const Spread& kernels, const Spread& memcpy, const Spread& memset);
// "1.06 ms", or "1.06 ms (1.04 ms to 1.10 ms)" where the runs differ.
std::string time_text(const Spread& time);
std::string bytes_text(const Spread& bytes);
std::string percent_text(double pct);
// "18.8 %"; "18.8 %, not 0" where the trace reports a wrong 0; "62.5 % (grid 3.1 %)" where the grid is too
// small to fill the device; empty where nothing is known.
std::string occupancy_text(const std::optional<OccupancyCell>& cell);
// "11.3 %" of a whole; empty where the whole is zero.
std::string share_text(Ns part, Ns whole);
// "1 run", "3 runs".
std::string plural(int64_t count, std::string_view one, std::string_view many);

// The op as people call it: "autograd::engine::evaluate_function: MmBackward0" is autograd calling
// MmBackward0.
std::string_view short_op(std::string_view op);
// The same; where there is none, in words: no op launched the work, or the trace lacks its launch.
std::string_view op_or_none(std::string_view op, bool launched);

// "event 35: Memcpy DtoD (127 us); and 2 more, all launched by aten::masked_fill"
std::string evidence_text(const std::vector<Evidence>& evidence, std::size_t most);

// A list of findings, numbered; with evidence when asked.
void findings_block(std::string& out, const Style& style, std::size_t indent,
                    const std::vector<FindingRow>& rows, bool with_range, bool with_evidence);

// The verdict table, misses first as they come, each with its why (and evidence). A row with a rank shows its
// `source`, the ranks that it speaks for.
void verdicts_block(std::string& out, const Style& style, std::size_t indent,
                    const std::vector<VerdictRow>& rows, bool with_range, bool with_evidence);

struct Tally {
  int64_t holds = 0, misses = 0, unknown = 0;
  int64_t total() const { return holds + misses + unknown; }
};
Tally tally(const std::vector<VerdictRow>& rows);
// "misses 1 of 4", "holds all 4", "holds 3 of 4, 1 unknown"; "-" for none.
std::string tally_text(const Tally& counts);
Ink tally_ink(const Tally& counts);

}  // namespace hunch::report::terminal
