// The report of a trace is the same, to the byte, for any number of threads that analyse it and for any order
// of the events in its file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

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

TEST(SameReport, ForAnyNumberOfThreads) {
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

// The same trace with its rows in another order; each keeps its place in the file, which is what reports
// print.
trace::Trace shuffled(trace::Trace trace, uint64_t seed) {
  std::vector<std::size_t> order(trace.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  const auto permute = [&order](auto& column) {
    auto old = column;
    for (std::size_t row = 0; row < order.size(); ++row) column[row] = old[order[row]];
  };
  permute(trace.start);
  permute(trace.duration);
  permute(trace.name);
  permute(trace.kind);
  permute(trace.track);
  permute(trace.correlation);
  permute(trace.external_id);
  permute(trace.detail);
  permute(trace.source_index);
  std::shuffle(trace.memory.begin(), trace.memory.end(), std::mt19937_64(seed));
  return trace;
}

TEST(SameReport, ForAnyOrderOfEvents) {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(HUNCH_TEST_DATA) + "/traces")) {
    if (entry.path().extension() != ".gz") continue;
    SCOPED_TRACE(entry.path().filename().string());
    auto trace = formats::read_trace(entry.path().string());
    ASSERT_TRUE(trace);
    const std::string report = report_of(*trace, 1);
    const trace::Trace other = shuffled(std::move(*trace), 7);
    EXPECT_EQ(report_of(other, 1), report);
  }
}

}  // namespace
}  // namespace hunch
