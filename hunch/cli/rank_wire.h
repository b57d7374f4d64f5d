// What one rank's file becomes, as bytes: its part of the report of `explain`, or its verdicts of `check`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/result.h"
#include "hunch/report/report.h"

namespace hunch::cli {

// A rank's verdicts, and which rank it is.
struct RankVerdicts {
  analysis::RankIdentity identity;
  std::vector<report::VerdictRow> verdicts;
};

std::string pack(const report::RankTrace& trace);
std::string pack(const RankVerdicts& verdicts);
std::string pack(const base::Error& error);

// Error: environment, where the bytes are not whole.
base::Result<report::RankTrace> unpack_trace(std::string_view bytes);
base::Result<RankVerdicts> unpack_verdicts(std::string_view bytes);
base::Result<base::Error> unpack_error(std::string_view bytes);

}  // namespace hunch::cli
