// JSON for scripts: schema_version 1, units in names (_ns, _bytes, _pct), stable key order, null for what the
// trace does not say. Per-forward values are plain numbers where all runs agree, else {"min", "median",
// "max"}.
#pragma once

#include "hunch/report/report.h"

namespace hunch::report::json {

class JsonRenderer final : public Renderer {
 public:
  std::string_view name() const override { return "json"; }
  std::string render(const Document& document, const Style& style) const override;
};

// In files of their own, diff_json.cc and ranks_json.cc.
std::string render_diff(const DiffReport& report);
std::string render_why(const WhyReport& report);
std::string render_ranks(const RanksReport& report, const Style& style);

}  // namespace hunch::report::json
