// Judges one output of a backend against the double-precision reference.
// In:  the values that came out, the reference of the same call, the design's bound, and whether fully masked
//      rows must be zero (SDPA) or NaN (by hand).
// Out: a verdict: the worst error, and the first thing that is wrong, with its row and element.
// Holds: a NaN never passes where a number is due, and a missing or surplus element never passes. Outputs are
// poisoned with NaN before they are written, so that an unwritten element is a NaN.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hunch/attention/reference/reference.h"

namespace hunch::conformance {

enum class EmptyRows { zero, nan };

struct Verdict {
  double worst = 0;  // largest error among the rows that attend to something
  std::string why;   // empty: it passes
  bool ok() const { return why.empty(); }
};

inline bool is_empty_row(const attention::reference::Result& exact, std::size_t row) {
  return std::isinf(exact.lse[row]) && exact.lse[row] < 0;
}

inline Verdict judge_out(const std::vector<double>& out, const attention::reference::Result& exact,
                         double bound, EmptyRows empty_rows) {
  Verdict verdict;
  if (out.size() != exact.out.size()) {
    verdict.why = fmt::format("{} elements, not {}", out.size(), exact.out.size());
    return verdict;
  }
  if (out.empty()) return verdict;
  const std::size_t width = out.size() / exact.lse.size();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / width;
    const auto wrong = [&](const char* what) {
      if (verdict.why.empty())
        verdict.why = fmt::format("row {}, element {}: {} instead of {}: {}", row, i % width, out[i],
                                  exact.out[i], what);
    };
    if (is_empty_row(exact, row)) {
      if (empty_rows == EmptyRows::zero && out[i] != 0.0) wrong("a fully masked row must be exactly zero");
      if (empty_rows == EmptyRows::nan && !std::isnan(out[i]))
        wrong("a fully masked row must be NaN by hand");
      continue;
    }
    const double error = std::fabs(out[i] - exact.out[i]);
    if (error > verdict.worst) verdict.worst = error;
    if (!(error <= bound)) wrong(std::isnan(error) ? "not a number" : "beyond the bound");
  }
  return verdict;
}

// LSE is made of sums in f32: the scores' own rounding is all that it may lose. Rows that a mask filled with
// the lowest finite value are held to the order of magnitude: a kernel that counts in powers of two saturates
// there, and must only keep apart what is finite and what is not.
inline bool is_right_lse(double lse, double exact) {
  if (std::isinf(exact)) return lse == exact;
  if (exact < -1e37) return std::isfinite(lse) && lse < exact / 2 && lse > exact * 2;
  return std::fabs(lse - exact) <= 5e-4 + 2e-5 * std::fabs(exact);
}

inline Verdict judge_lse(const std::vector<double>& lse, const attention::reference::Result& exact) {
  Verdict verdict;
  if (lse.size() != exact.lse.size()) {
    verdict.why = fmt::format("{} rows of LSE, not {}", lse.size(), exact.lse.size());
    return verdict;
  }
  for (std::size_t row = 0; row < lse.size() && verdict.ok(); ++row) {
    const bool right = is_right_lse(lse[row], exact.lse[row]);
    if (!right) verdict.why = fmt::format("LSE of row {} is {} instead of {}", row, lse[row], exact.lse[row]);
  }
  return verdict;
}

}  // namespace hunch::conformance
