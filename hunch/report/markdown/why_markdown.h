// The answer of `hunch why` as Markdown: a heading a problem, a table of the backends of each dispatcher.
#pragma once

#include <string>

#include "hunch/report/report.h"

namespace hunch::report::markdown {

std::string why(const WhyReport& report);

}  // namespace hunch::report::markdown
