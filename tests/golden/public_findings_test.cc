// Every rule against traces of other people's programs and devices, where most causes are absent: a rule that
// speaks there without one would show as a new row. The traces are not ours to ship: HUNCH_PUBLIC_TRACES
// names the folder that has them, and without it the test says that it was skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/formats/reader.h"

namespace hunch {
namespace {

using Counts = std::map<std::string, int>;  // findings by rule

std::map<std::string, Counts> expected() {
  std::ifstream file(std::string(HUNCH_SOURCE) + "/tests/golden/public_findings.tsv");
  std::map<std::string, Counts> traces;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string trace, rule;
    int count = 0;
    if (line.starts_with("#") || !(fields >> trace >> rule >> count)) continue;
    Counts& counts = traces[trace];
    if (count > 0) counts[rule] = count;
  }
  return traces;
}

TEST(PublicTraces, HaveTheFindingsThatWereReadByEyeAndNoOthers) {
  const char* folder = std::getenv("HUNCH_PUBLIC_TRACES");
  if (folder == nullptr || !std::filesystem::is_directory(folder))
    GTEST_SKIP() << "HUNCH_PUBLIC_TRACES names no folder with the public traces";
  const auto traces = expected();
  ASSERT_GE(traces.size(), 10u);
  for (const auto& [name, counts] : traces) {
    SCOPED_TRACE(name);
    const auto trace = formats::read_trace(std::string(folder) + "/" + name);
    ASSERT_TRUE(trace) << base::describe(trace.error());
    const auto analysis = analysis::analyze(*trace);
    Counts seen;
    for (const auto& finding : analysis::rules::find_all(analysis)) ++seen[finding.rule];
    EXPECT_EQ(seen, counts);
  }
}

}  // namespace
}  // namespace hunch
