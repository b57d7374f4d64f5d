// Ranks joined into one report: spreads, odd counts, work and findings that only some have; and every
// renderer of it.
#include <gtest/gtest.h>

#include <simdjson.h>

#include "hunch/report/ranks_merge.h"
#include "hunch/report/report.h"
#include "hunch/report/utf8.h"

namespace hunch::report {
namespace {

RankTrace rank_with(int64_t rank, int64_t kernels, Ns device) {
  RankTrace trace;
  trace.identity.told = rank;
  trace.identity.world_size = 4;
  trace.identity.path = trace.trace.source = "rank" + std::to_string(rank) + ".json";
  trace.trace.format = "chrome_json";
  trace.trace.device = "A <device>";
  ForwardRow row;
  row.range = "step";
  row.found_by = "annotation";
  row.runs = 1;
  row.kernels = {kernels, kernels, kernels};
  row.device_ns = {device, device, device};
  trace.forwards.push_back(row);
  analysis::RankRun run;
  run.wall_ns = 2 * device;
  run.idle_ns = device;
  run.compute_ns = device;
  trace.ranges.push_back({"step", {run}});
  KernelRow kernel;
  kernel.range = "step";
  kernel.name = kernel.readable = "gemm";
  kernel.kind = "kernel";
  kernel.calls = kernels;
  kernel.device_ns = device;
  kernel.grid = rank == 0 ? "1x1x1" : "2x1x1";
  kernel.block = "128x1x1";
  trace.kernels.push_back(kernel);
  FindingRow finding;
  finding.finding.rule = "hidden_copy";
  finding.finding.range = "step";
  finding.finding.claim = std::to_string(rank + 1) + " copies per forward, " + std::to_string(device) + " ns";
  finding.finding.cause = "`aten::masked_fill` clones";
  finding.finding.cost_ns = device;
  trace.findings.push_back(finding);
  return trace;
}

RanksReport sample() {
  auto odd = rank_with(2, 6, 3000);
  odd.findings[0].finding.rule = "fp32_upcast";
  odd.kernels.push_back(odd.kernels[0]);
  odd.kernels[1].name = odd.kernels[1].readable = "cast";
  return ranks("run", {rank_with(1, 5, 2000), odd, rank_with(0, 5, 1000)}, {{"run/x.txt", "not a trace"}});
}

TEST(Ranks, AreJoinedByRank) {
  const RanksReport report = sample();
  ASSERT_EQ(report.ranks.size(), 3u);
  EXPECT_EQ(report.ranks[0].trace.source, "rank0.json");
  EXPECT_EQ(report.missing, (std::vector<int64_t>{3}));
  ASSERT_EQ(report.forwards.size(), 1u);
  const RanksForward& forward = report.forwards[0];
  EXPECT_EQ(forward.device_ns.min, 1000);
  EXPECT_EQ(forward.device_ns.median, 2000);
  EXPECT_EQ(forward.device_ns.max, 3000);
  EXPECT_EQ(forward.kernels.max, 6);
  EXPECT_DOUBLE_EQ(forward.median_busy_pct, 50);
  EXPECT_EQ(forward.odd, (std::vector<std::size_t>{2}));
  EXPECT_EQ(forward.waiting.told, analysis::Waiting::Told::no_communication);
}

TEST(Ranks, ShareWorkAndFindingsWhereOnlyNumbersDiffer) {
  const RanksReport report = sample();
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[1].row.name, "gemm");
  EXPECT_EQ(report.kernels[1].ranks.size(), 3u);
  EXPECT_EQ(report.kernels[1].row.grid, "") << "grids differ";
  EXPECT_EQ(report.kernels[1].row.block, "128x1x1");
  EXPECT_EQ(report.kernels[0].ranks, (std::vector<std::size_t>{2}));
  ASSERT_EQ(report.findings.size(), 2u);
  for (const RanksFinding& finding : report.findings) EXPECT_FALSE(finding.everywhere);
  const RanksFinding& shared = report.findings[1];
  EXPECT_EQ(shared.ranks, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(shared.cost_ns->min, 1000);
  EXPECT_EQ(shared.cost_ns->max, 2000);
  EXPECT_EQ(shared.shown_rank, 1u) << "where it costs most";
  EXPECT_EQ(without_numbers("3 casts, 1.50 ms (12 % of 1,200 us), sm_90"), "# casts, # (# of #), sm_#");
}

TEST(Ranks, EveryRendererShowsThemAndTextFitsTheWidth) {
  const RanksReport report = sample();
  for (const Renderer* renderer : renderers()) {
    const std::string out = renderer->render(report, {});
    EXPECT_NE(out.find("step"), std::string::npos) << renderer->name();
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(out.back(), '\n');
    if (renderer->name() != "json") continue;
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    ASSERT_EQ(parser.parse(out).get(root), simdjson::SUCCESS);
    EXPECT_EQ(int64_t(root["missing_ranks"].at(0)), 3);
    EXPECT_EQ(int64_t(root["forwards"].at(0)["odd_ranks"].at(0)), 2);
    EXPECT_EQ(std::string_view(root["skipped_files"].at(0)["path"]), "run/x.txt");
  }
  for (const int width : {40, 60, 80, 120}) {
    Style style;
    style.width = width;
    const std::string out = find_renderer("text")->render(report, style);
    for (std::size_t at = 0; at < out.size();) {
      const auto end = out.find('\n', at);
      EXPECT_LE(display_width(out.substr(at, end - at)), static_cast<std::size_t>(width));
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace hunch::report
