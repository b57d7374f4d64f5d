// The real traces against counts that an independent script took straight from their JSON: every row of
// expected.tsv, and no range or trace beyond it. All runs of these ranges count the same.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "hunch/analysis/accounting.h"
#include "hunch/analysis/analysis.h"
#include "hunch/formats/reader.h"

namespace hunch {
namespace {

const std::string kTraces = std::string(HUNCH_TEST_DATA) + "/traces/";

struct Row {
  std::string trace, range;
  int64_t runs = 0, kernels = 0, memcpys = 0, memsets = 0, device_ns = 0;
  std::size_t unattributed = 0;
};

// "151.581" microseconds to nanoseconds, digit by digit.
int64_t nanoseconds(const std::string& microseconds) {
  const auto point = microseconds.find('.');
  EXPECT_EQ(microseconds.size() - point, 4u) << microseconds;
  return std::stoll(microseconds.substr(0, point)) * 1000 + std::stoll(microseconds.substr(point + 1));
}

std::vector<Row> expected_rows() {
  std::ifstream file(kTraces + "expected.tsv");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "trace\trange\tforwards\tkernels\tmemcpy\tmemset\tdevice_us_first\tunattributed");
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '\t');) cells.push_back(cell);
    if (cells.size() != 8) {
      ADD_FAILURE() << line;
      continue;
    }
    rows.push_back({cells[0], cells[1], std::stoll(cells[2]), std::stoll(cells[3]), std::stoll(cells[4]),
                    std::stoll(cells[5]), nanoseconds(cells[6]), std::stoull(cells[7])});
  }
  return rows;
}

TEST(Expected, EveryRangeOfEveryTrace) {
  std::map<std::string, std::vector<Row>> by_trace;
  for (const Row& row : expected_rows()) by_trace[row.trace].push_back(row);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kTraces))
    if (entry.path().extension() == ".gz") files.insert(entry.path().filename().string());
  std::set<std::string> named;
  for (const auto& [trace, rows] : by_trace) named.insert(trace);
  EXPECT_EQ(named, files) << "each trace has rows and each row its trace";

  for (const auto& [name, rows] : by_trace) {
    SCOPED_TRACE(name);
    const auto trace = formats::read_trace(kTraces + name);
    ASSERT_TRUE(trace) << base::describe(trace.error());
    EXPECT_EQ(trace->stats.skipped, 0u);
    const auto analysis = analysis::analyze(*trace);
    ASSERT_EQ(analysis.forwards.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& forward = analysis.forwards[i];
      SCOPED_TRACE(rows[i].range);
      EXPECT_EQ(forward.range, rows[i].range);
      EXPECT_EQ(forward.source, analysis::ForwardSource::annotation);
      ASSERT_EQ(static_cast<int64_t>(forward.runs.size()), rows[i].runs);
      for (const auto& run : forward.runs) {
        EXPECT_EQ(run.kernels, rows[i].kernels);
        EXPECT_EQ(run.memcpys, rows[i].memcpys);
        EXPECT_EQ(run.memsets, rows[i].memsets);
      }
      EXPECT_EQ(forward.runs[0].device_ns, rows[i].device_ns);
      EXPECT_EQ(analysis.unattributed.size(), rows[i].unattributed);
    }
  }
}

TEST(Expected, BackendOfEveryRange) {
  const std::map<std::string, std::map<std::string, std::string>> known = {
      {"contiguous_copies.json.gz", {{"attn_fwd", "cudnn"}}},
      {"launch_bound.json.gz", {{"attn_fwd", "naive"}}},
      {"llama_eager_prefill.json.gz", {{"forward", "naive"}}},
      {"llama_sdpa_prefill.json.gz", {{"forward", "cudnn"}}},
      {"llama_train.json.gz",
       {{"train_step", "cudnn"},
        {"Optimizer.step#AdamW.step", ""},
        {"Optimizer.zero_grad#AdamW.zero_grad", ""}}},
      {"naive.json.gz", {{"attn_fwd", "naive"}}},
      {"naive_inplace.json.gz", {{"attn_fwd", "naive"}}},
      {"sdpa_cudnn.json.gz", {{"sdpa_fwd", "cudnn"}}},
      {"sdpa_default.json.gz", {{"sdpa_fwd", "cudnn"}}},
      {"sdpa_efficient.json.gz", {{"sdpa_fwd", "efficient"}}},
      {"sdpa_flash.json.gz", {{"sdpa_fwd", "flash"}}},
      {"sdpa_floatmask.json.gz", {{"sdpa_fwd", "cudnn"}}},
      {"sdpa_fp32.json.gz", {{"sdpa_fwd", "efficient"}}},
      {"sdpa_gqa.json.gz", {{"sdpa_fwd", "cudnn"}}},
      {"sdpa_gqa_math.json.gz", {{"sdpa_fwd", "math"}}},
      {"sdpa_math.json.gz", {{"sdpa_fwd", "math"}}},
      {"train_sdpa_cudnn.json.gz", {{"fwd", "cudnn"}, {"bwd", "cudnn"}}},
      {"train_sdpa_flash.json.gz", {{"fwd", "flash"}, {"bwd", "flash"}}},
  };
  for (const auto& [name, ranges] : known) {
    SCOPED_TRACE(name);
    const auto trace = formats::read_trace(kTraces + name);
    ASSERT_TRUE(trace) << base::describe(trace.error());
    const auto analysis = analysis::analyze(*trace);
    EXPECT_EQ(analysis.forwards.size(), ranges.size());
    for (const auto& forward : analysis.forwards) {
      ASSERT_TRUE(ranges.count(forward.range)) << forward.range;
      EXPECT_EQ(forward.backend, ranges.at(forward.range)) << forward.range;
    }
  }
}

TEST(Expected, NaiveCopyComesFromMaskedFill) {
  const auto trace = formats::read_trace(kTraces + "naive.json.gz");
  ASSERT_TRUE(trace) << base::describe(trace.error());
  const auto analysis = analysis::analyze(*trace);
  int copies = 0;
  for (const auto& run : analysis.forwards.at(0).runs) {
    std::vector<std::string> ops;
    for (const auto work : run.work) {
      if (trace->kind[work] != trace::EventKind::memset) ops.emplace_back(analysis.outer_op(work));
      if (trace->kind[work] != trace::EventKind::memcpy) continue;
      ++copies;
      EXPECT_EQ(analysis.outer_op(work), "aten::masked_fill");
      EXPECT_EQ(analysis.inner_op(work), "aten::copy_");
    }
    EXPECT_EQ(ops, (std::vector<std::string>{"aten::matmul", "aten::mul", "aten::masked_fill",
                                             "aten::masked_fill", "aten::softmax", "aten::matmul"}));
  }
  EXPECT_EQ(copies, 3);
}

// Every nanosecond of every run of every real trace is accounted for.
TEST(Expected, TimeAddsUp) {
  for (const auto& entry : std::filesystem::directory_iterator(kTraces)) {
    if (entry.path().extension() != ".gz") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto trace = formats::read_trace(entry.path().string());
    ASSERT_TRUE(trace) << base::describe(trace.error());
    const auto analysis = analysis::analyze(*trace);
    for (const auto& forward : analysis.forwards)
      for (const auto& run : forward.runs) {
        const auto accounting = analysis::account(analysis, run);
        analysis::Ns at = accounting.start, sum = 0;
        for (const auto& slice : accounting.slices) {
          EXPECT_EQ(slice.start, at);
          at = slice.end;
        }
        EXPECT_EQ(at, accounting.end);
        for (const auto part : accounting.total) sum += part;
        EXPECT_EQ(sum, accounting.end - accounting.start);
        EXPECT_EQ(accounting.of(analysis::Part::busy), run.busy_ns);
        EXPECT_EQ(accounting.of(analysis::Part::unknown), 0);
      }
  }
}

}  // namespace
}  // namespace hunch
