// Several ranks as Markdown: a table over the ranks, one of the ranks of each range, findings.
#pragma once

#include <string>

#include "hunch/report/report.h"

namespace hunch::report::markdown {

std::string ranks(const RanksReport& report, const Style& style);

}  // namespace hunch::report::markdown
