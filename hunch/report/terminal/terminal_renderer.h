// Text for a person at a terminal (or a file): tables that fit the width, findings and misses in words.
#pragma once

#include "hunch/report/report.h"

namespace hunch::report::terminal {

class TerminalRenderer final : public Renderer {
 public:
  std::string_view name() const override { return "text"; }
  std::string render(const Document& document, const Style& style) const override;
};

std::string render(const ExplainReport& report, const Style& style);
std::string render(const RunReport& report, const Style& style);
std::string render(const CheckReport& report, const Style& style);
std::string render(const DoctorReport& report, const Style& style);
std::string render(const NameReport& report, const Style& style);
std::string render(const DiffReport& report, const Style& style);
std::string render(const RanksReport& report, const Style& style);
std::string render(const WhyReport& report, const Style& style);

}  // namespace hunch::report::terminal
