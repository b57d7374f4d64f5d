// Which rank a trace is, and who waited for whom: sure where it is told, and not told where it is not sure.
#include "hunch/analysis/ranks.h"

#include <gtest/gtest.h>

#include "hand_made.h"
#include "hunch/analysis/rank_identity.h"

namespace hunch::analysis {
namespace {

TEST(RankNames, SayTheRank) {
  EXPECT_EQ(rank_of_name("runs/rank3.json.gz"), 3);
  EXPECT_EQ(rank_of_name("RANK_12.pt.trace.json"), 12);
  EXPECT_EQ(rank_of_name("node1_rank-007.json"), 7);
  EXPECT_EQ(rank_of_name("worker5.1700000000000.pt.trace.json"), 5);
  EXPECT_EQ(rank_of_name("rank4/trace.json"), 4);
  EXPECT_EQ(rank_of_name("local_rank2.json"), std::nullopt);
  EXPECT_EQ(rank_of_name("frank3.json"), std::nullopt);
  EXPECT_EQ(rank_of_name("rank1700000000000.json"), std::nullopt);
  EXPECT_EQ(number_of_name("trace_3.json.gz"), 3);
  EXPECT_EQ(number_of_name("7.json"), 7);
  EXPECT_EQ(number_of_name("host_12.1700000000000.pt.trace.json"), std::nullopt);
  EXPECT_EQ(number_of_name("h100.json"), std::nullopt);
}

RankIdentity identity(std::string path, std::map<std::string, std::string> metadata = {}) {
  return identify_rank(metadata, std::move(path));
}
std::map<std::string, std::string> info(int rank, int world) {
  return {{"distributedInfo.rank", std::to_string(rank)},
          {"distributedInfo.world_size", std::to_string(world)},
          {"distributedInfo.backend", "nccl"}};
}

TEST(RankSets, TakeTheTracesWordOverTheName) {
  std::vector<RankIdentity> ranks = {identity("rank0.json", info(1, 2)), identity("rank1.json", info(0, 2))};
  const auto set = settle_ranks(ranks);
  EXPECT_EQ(set.order, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(set.world_size, 2);
  EXPECT_EQ(set.backend, "nccl");
  EXPECT_TRUE(set.missing.empty());
  EXPECT_TRUE(set.warnings.empty());
}

TEST(RankSets, SayWhatIsMissingDoubledAndOutside) {
  std::vector<RankIdentity> ranks = {identity("a", info(0, 4)), identity("b", info(0, 4)),
                                     identity("c", info(5, 4))};
  const auto set = settle_ranks(ranks);
  EXPECT_EQ(set.missing, (std::vector<int64_t>{1, 2, 3}));
  ASSERT_EQ(set.doubles.size(), 1u);
  EXPECT_EQ(set.doubles[0].kept, "a");
  EXPECT_EQ(set.doubles[0].left_out, "b");
  ASSERT_EQ(set.warnings.size(), 1u);
  EXPECT_NE(set.warnings[0].find("rank 5 is outside of the world size 4"), std::string::npos);
}

TEST(RankSets, NumberByOrderWhereNothingTells) {
  std::vector<RankIdentity> ranks = {identity("host_1.1700000000000.json"),
                                     identity("host_1.1700000000001.json")};
  const auto set = settle_ranks(ranks);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_EQ(ranks[1].source, RankSource::order);
  EXPECT_EQ(set.warnings.size(), 1u);
  EXPECT_EQ(ranks_text({0, 1, 2, 5, 7, 8}), "0-2, 5, 7, 8");
}

// A run of two collectives that end at the same moments on every rank, begun after `late` more.
RankRange range_with(std::vector<Ns> late, Ns clock = 0, std::size_t collectives = 2) {
  RankRange range;
  for (const Ns each : late) {
    RankRun run;
    run.wall_ns = 10'000'000;
    run.compute_ns = 1'000'000 + each;
    for (std::size_t i = 0; i < collectives; ++i) {
      const Ns end = static_cast<Ns>(i + 1) * 2'000'000 + clock;
      run.collectives.push_back({"all_reduce", end - 1'000'000 + each, 1'000'000 - each});
    }
    range.runs.push_back(run);
  }
  return range;
}

TEST(Waiting, NamesTheRankThatComesLastInEveryRun) {
  const auto a = range_with({0, 0, 0}), b = range_with({400'000, 410'000, 405'000}, 5'000'000'000);
  const auto waiting = judge_waiting({&a, &b});
  ASSERT_EQ(waiting.told, Waiting::Told::late) << waiting.why;
  EXPECT_EQ(waiting.late, (std::vector<std::size_t>{1}));
  EXPECT_EQ(waiting.waited, (std::vector<Ns>{810'000, 0}));
  EXPECT_EQ(waiting.waited_more_others, 810'000);
  EXPECT_EQ(waiting.compute_more, 405'000);
  EXPECT_EQ(waiting.last, 6);
  EXPECT_EQ(waiting.collectives, 6);
}

TEST(Waiting, IsBalancedWhereRanksAreLateByTurns) {
  const auto a = range_with({400'000, 0, 400'000}), b = range_with({0, 400'000, 0});
  EXPECT_EQ(judge_waiting({&a, &b}).told, Waiting::Told::balanced);
  const auto c = range_with({1'000, 1'000, 1'000}), d = range_with({0, 0, 0});
  EXPECT_EQ(judge_waiting({&c, &d}).told, Waiting::Told::balanced);
}

TEST(Waiting, NamesTwoLateRanksOfFourAndNoneOfThree) {
  const auto on_time = range_with({0, 0, 0}), late = range_with({400'000, 400'000, 400'000});
  EXPECT_EQ(judge_waiting({&late, &on_time, &on_time, &late}).late, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(judge_waiting({&late, &on_time, &late}).told, Waiting::Told::balanced);
}

TEST(Waiting, IsNotToldWhereItIsNotSure) {
  const auto a = range_with({0, 0, 0}), late = range_with({400'000, 400'000, 400'000});
  const auto not_told = [](const std::vector<const RankRange*>& ranks, std::string_view why) {
    const auto waiting = judge_waiting(ranks);
    EXPECT_EQ(waiting.told, Waiting::Told::not_told);
    EXPECT_NE(waiting.why.find(why), std::string::npos) << waiting.why;
  };
  not_told({&a}, "only one rank");
  const auto fewer_runs = range_with({400'000, 400'000});
  not_told({&a, &fewer_runs}, "different numbers of runs");
  const auto fewer = range_with({400'000, 400'000, 400'000}, 0, 1);
  not_told({&a, &fewer}, "same collectives");
  // Groups of their own: the ends wander against each other.
  auto apart = late;
  for (std::size_t run = 0; run < 3; ++run)
    for (auto& each : apart.runs[run].collectives) each.start += static_cast<Ns>(run) * 900'000;
  not_told({&a, &apart}, "do not end together");
  auto others = a;
  for (auto& run : others.runs) {
    run.collectives.clear();
    run.other_communication = 2;
  }
  not_told({&others, &others}, "do not wait for all ranks");
  const auto single = range_with({0}, 0, 1), single_late = range_with({400'000}, 0, 1);
  not_told({&single, &single_late}, "too few");
  RankRange silent;
  silent.runs.resize(2);
  EXPECT_EQ(judge_waiting({&silent, &silent}).told, Waiting::Told::no_communication);
}

TEST(RankRuns, SplitComputeFromCommunicationThatNothingHides) {
  HandMade made;
  made.range("step", 0, 100);
  made.call(1, 1, 2), made.call(2, 3, 4), made.call(3, 5, 6);
  made.kernel(1, 10, 40, "ampere_sgemm_128x64_tn");
  made.kernel(2, 30, 70, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  made.kernel(3, 50, 60, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto run = rank_range(analysis, analysis.forwards.at(0)).runs.at(0);
  EXPECT_EQ(run.compute_ns, 30'000);
  EXPECT_EQ(run.communication_ns, 40'000);
  EXPECT_EQ(run.exposed_ns, 30'000);
  EXPECT_EQ(run.wall_ns, 100'000);
  EXPECT_EQ(run.idle_ns, 40'000);
  ASSERT_EQ(run.collectives.size(), 1u);
  EXPECT_EQ(run.collectives[0].kind, "all_reduce");
  EXPECT_EQ(run.other_communication, 1);
}

TEST(RankRuns, FindTheStepsBesideRangesOfOtherNames) {
  HandMade made;
  made.host(trace::EventKind::step, "ProfilerStep#1", 0, 100);
  made.range("forward", 10, 50);
  made.call(1, 11, 12), made.call(2, 60, 61);
  made.kernel(1, 20, 30), made.kernel(2, 70, 80);
  const auto trace = made.finish();
  const auto analysis = analyze(trace);
  const auto steps = steps_beside_ranges(analysis);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->runs.size(), 1u);
  EXPECT_EQ(steps->runs[0].kernels, 2);
  EXPECT_EQ(steps->runs[0].busy_ns, 20'000);
  EXPECT_EQ(steps->runs[0].host_ns, 100'000);
}

}  // namespace
}  // namespace hunch::analysis
