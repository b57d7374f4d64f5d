// The report of a trace is the same, to the byte, for any number of threads that analyse it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "hunch/analysis/rules/rule.h"
#include "hunch/formats/reader.h"
#include "hunch/report/report.h"
#include "stripped.h"

namespace hunch {
namespace {

std::string report_of(const trace::Trace& trace, int threads) {
  const analysis::Analysis analysis = analysis::analyze(trace, threads);
  const auto findings = analysis::rules::find_all(analysis, threads);
  return report::find_renderer("json")->render(report::explain(analysis, findings), {});
}

TEST(Threads, AnyNumberMakesTheSameReport) {
  int traces = 0;
  for (const char* folder : {"/traces", "/recordings"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(HUNCH_TEST_DATA) + folder)) {
      if (entry.path().extension() != ".gz") continue;
      ++traces;
      SCOPED_TRACE(entry.path().filename().string());
      auto trace = formats::read_trace(entry.path().string());
      ASSERT_TRUE(trace);
      const std::string one = report_of(*trace, 1);
      EXPECT_EQ(report_of(*trace, 2), one);
      EXPECT_EQ(report_of(*trace, 5), one);
      const trace::Trace bare = without(std::move(*trace), names_a_forward_or_frame);
      EXPECT_EQ(report_of(bare, 3), report_of(bare, 1));
    }
  EXPECT_GT(traces, 20);
}

}  // namespace
}  // namespace hunch
