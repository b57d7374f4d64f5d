// CSV for spreadsheets and data frames: one table a document, a header row first, quoted as RFC 4180 says
// (lines end in CRLF). Times are whole nanoseconds and sizes bytes, units in the names; what is not known is
// empty. Tables are whole unless --top asks for less.
#pragma once

#include "hunch/report/report.h"

namespace hunch::report::csv {

class CsvRenderer final : public Renderer {
 public:
  std::string_view name() const override { return "csv"; }
  std::string render(const Document& document, const Style& style) const override;
};

}  // namespace hunch::report::csv
