// Several traces as ranks of a job: what is said of them, what is wrong with a set, and that any number of
// processes gives the same bytes.
#include <gtest/gtest.h>

#include <simdjson.h>
#include <filesystem>

#include "process.h"
#include "rank_traces.h"

namespace hunch::test {
namespace {

class RanksTest : public CliTest {
 protected:
  // Writes a job into the folder `name`, as rank0.json and so on; returns the folder.
  std::string job_in(const std::string& name, const std::vector<RankTraceSpec>& specs,
                     const std::string& prefix = "rank") const {
    std::filesystem::create_directories(folder_ / name);
    const auto traces = rank_traces(specs);
    for (std::size_t i = 0; i < traces.size(); ++i)
      write_file(folder_ / name / (prefix + std::to_string(specs[i].rank) + ".json"), traces[i]);
    return name;
  }
  simdjson::dom::element json(const Outcome& outcome) {
    EXPECT_EQ(outcome.err, "");
    simdjson::dom::element root;
    EXPECT_EQ(parser_.parse(outcome.out).get(root), simdjson::SUCCESS) << outcome.out;
    return root;
  }
  static void expect_has(const std::string& text, const std::vector<std::string>& parts) {
    for (const auto& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << part << "\nnot in\n" << text;
  }
  simdjson::dom::parser parser_;
};

TEST_F(RanksTest, NamesTheRankThatTheOthersWaitedForWhateverTheClocks) {
  const auto outcome = hunch({"explain", job_in("run", job(4, 2))});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  // 3 collectives a run, each waited for 400 us.
  expect_has(outcome.out,
             {"run: 4 of 4 ranks (nccl)", "The others wait for rank 2: 1.20 ms a run in collectives",
              "it comes last to 9 of 9", "it computes 1.20 ms longer"});
}

TEST_F(RanksTest, JsonHasTheSpreadAndEachRank) {
  const auto root = json(hunch({"explain", "-f", "json", job_in("run", job(3, 0))}));
  EXPECT_EQ(int64_t(root["schema_version"]), 1);
  EXPECT_EQ(root["ranks"].get_array().size(), 3u);
  const auto forward = root["forwards"].at(0);
  EXPECT_EQ(std::string_view(forward["range"]), "ProfilerStep");
  EXPECT_EQ(int64_t(forward["kernels"]), 6);
  EXPECT_EQ(int64_t(forward["compute_ns"]["max"]), 2'700'000);
  EXPECT_EQ(int64_t(forward["compute_ns"]["median"]), 1'500'000);
  EXPECT_EQ(int64_t(forward["communication_ns"]["min"]), 300'000);
  EXPECT_EQ(int64_t(forward["exposed_communication_ns"]["max"]), 1'500'000);
  EXPECT_EQ(std::string_view(forward["waiting"]["verdict"]), "late");
  EXPECT_EQ(int64_t(forward["waiting"]["late_ranks"].at(0)), 0);
  const auto rank = root["ranks"].at(1);
  EXPECT_EQ(int64_t(rank["rank"]), 1);
  EXPECT_EQ(std::string_view(rank["rank_from"]), "trace");
  EXPECT_EQ(int64_t(rank["forwards"].at(0)["waited_ns"]), 1'200'000);
  EXPECT_EQ(root["missing_ranks"].get_array().size(), 0u);
}

TEST_F(RanksTest, StaysSilentWhereNobodyIsLate) {
  const auto outcome = hunch({"explain", job_in("run", job(4, -1))});
  expect_has(outcome.out, {"Nobody is waited for throughout: no rank came last by more than noise"});
}

TEST_F(RanksTest, CannotTellWhereCollectivesDiffer) {
  auto specs = job(2, 1);
  specs[1].collectives = 2;
  const auto outcome = hunch({"explain", job_in("run", specs)});
  expect_has(outcome.out, {"cannot be told: the ranks did not run the same collectives: 3 and 2 in run 1"});
  EXPECT_EQ(outcome.out.find("The others wait"), std::string::npos);
}

TEST_F(RanksTest, NamesOddCountsAndFindingsOfOneRank) {
  auto specs = job(4, -1);
  specs[3].copy = true;
  const auto outcome = hunch({"explain", job_in("run", specs)});
  expect_has(outcome.out, {"rank 3: 6 + 1 copy in 3 runs; the others 6 in 3 runs",
                           "Work in ProfilerStep that not every rank has",
                           "hidden_copy, only on rank 3: 1 copy per forward"});
}

TEST_F(RanksTest, SaysWhatIsMissingTwiceAndSkipped) {
  auto specs = job(4, -1);
  specs.erase(specs.begin() + 1);
  specs.push_back(specs[1]);  // rank 2 again
  specs.back().rank = 2;
  const std::string folder = job_in("run", {specs.begin(), specs.begin() + 3});
  write_file(folder_ / folder / "second.json", rank_traces({specs[3]}).front());
  write_file(folder_ / folder / "notes.txt", "nothing to see");
  write_file(folder_ / folder / "config.json", "{\"layers\": 4}");
  const auto outcome = hunch({"explain", folder});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_has(outcome.out, {"run: 3 of 4 ranks", "missing  rank 1",
                           "rank 2: run/rank2.json is read, run/second.json is left out",
                           "run/notes.txt: not a trace", "run/config.json: "});
}

TEST_F(RanksTest, TakesRanksFromNamesWhereTracesDoNotTell) {
  auto specs = job(3, -1);
  for (auto& spec : specs) spec.says_rank = false;
  const auto named = json(hunch({"explain", "-f", "json", job_in("named", specs, "trace_")}));
  EXPECT_EQ(std::string_view(named["ranks"].at(2)["rank_from"]), "file name");
  const auto traces = rank_traces(specs);
  write("a.json", traces[0]), write("b.json", traces[1]), write("c.json", traces[2]);
  const auto ordered = json(hunch({"explain", "-f", "json", "b.json", "c.json", "a.json"}));
  EXPECT_EQ(std::string_view(ordered["ranks"].at(0)["rank_from"]), "order");
  EXPECT_EQ(std::string_view(ordered["ranks"].at(0)["source"]), "a.json");
  EXPECT_EQ(ordered["warnings"].get_array().size(), 1u);
}

TEST_F(RanksTest, SaysWorldSizesThatDiffer) {
  auto specs = job(3, -1);
  specs[2].world_size = 8;
  expect_has(hunch({"explain", job_in("run", specs)}).out,
             {"the traces tell different world sizes: 3 (ranks 0, 1), 8 (rank 2)"});
}

TEST_F(RanksTest, CheckHoldsEachRankAndNamesThoseThatMiss) {
  auto specs = job(4, -1);
  specs[3].copy = true;
  const std::string folder = job_in("run", specs);
  const auto missed = hunch({"check", "--guess", "kernels=6 memcpy=0", folder});
  EXPECT_EQ(missed.status, 1);
  expect_has(missed.out, {"--guess against run (4 ranks): misses 1 of 8", "seen in", "rank 3, event"});
  const auto root = json(hunch({"check", "-f", "json", "--guess", "kernels=6 memcpy=0", folder}));
  EXPECT_EQ(root["verdicts"].get_array().size(), 8u);
  EXPECT_EQ(int64_t(root["verdicts"].at(0)["rank"]), 3);
  EXPECT_EQ(hunch({"check", "--guess", "kernels=6", folder}).status, 0);
}

TEST_F(RanksTest, FailOnNamesTheRanks) {
  auto specs = job(2, -1);
  for (auto& spec : specs) spec.copy = true;
  const auto outcome = hunch({"explain", "--fail-on", "hidden_copy", job_in("run", specs)});
  EXPECT_EQ(outcome.status, 1);
  expect_has(outcome.err, {"--fail-on hidden_copy: ProfilerStep (ranks 0, 1)"});
}

TEST_F(RanksTest, ErrorsAreOfTheFirstFileAndOneLine) {
  const std::string folder = job_in("run", job(3, -1));
  const auto good = read_file(folder_ / folder / "rank1.json");
  write_file(folder_ / folder / "rank1.json", good.substr(0, good.size() / 2));
  write_file(folder_ / folder / "rank2.json", good.substr(0, good.size() / 2));
  expect_error(hunch({"explain", folder}), {"run/rank1.json", "byte"});
  EXPECT_EQ(hunch({"explain", "--salvage", folder}).status, 0);
  std::filesystem::create_directories(folder_ / "empty" / "iteration_1");
  expect_error(hunch({"explain", "empty"}), {"empty: the folder has no traces", "iteration_1"});
  expect_error(hunch({"explain", folder, "nowhere"}), {"nowhere: no such file or folder"});
  expect_error(hunch({"explain", folder, "-"}), {"standard input"});
  expect_error(hunch({"explain", "--per", "op", folder}), {"--per"});
  expect_error(hunch({"explain", "--range", "ProfilerStop", folder, "--salvage"}),
               {"did you mean 'ProfilerStep'?"});
}

TEST_F(RanksTest, FitsNarrowTerminalsAndTakesAClosedPipe) {
  const std::string folder = job_in("run", job(4, 1));
  const auto narrow = hunch({"explain", folder}, {"COLUMNS=60"});
  for (std::size_t at = 0; at < narrow.out.size();) {
    const auto end = narrow.out.find('\n', at);
    EXPECT_LE(end - at, 60u) << narrow.out.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_EQ(hunch_into_closed_pipe({"explain", folder}).status, 0);
}

#ifdef HUNCH_MPIRUN
class MpiTest : public RanksTest {
 protected:
  Outcome mpirun(int processes, const std::string& words) const {
    const std::string command =
        "cd " + folder_.string() +
        " && unset COLUMNS; timeout 300 " HUNCH_MPIRUN
        " --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --allow-run-as-root -n " +
        std::to_string(processes) + " " HUNCH_BINARY " " + words + " >mpi.out 2>mpi.err";
    Outcome outcome;
    const int status = std::system(command.c_str());
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.out = read_file(folder_ / "mpi.out");
    outcome.err = read_file(folder_ / "mpi.err");
    return outcome;
  }
};

TEST_F(MpiTest, AnyNumberOfProcessesPrintsTheSameBytes) {
  const std::string folder = job_in("run", job(4, 2));
  const auto same = [&](const std::vector<std::string>& words, const std::vector<int>& counts) {
    const auto alone = hunch(words, {"COLUMNS=100"});
    std::string line;
    for (const auto& word : words) line += word + " ";
    for (const int processes : counts) {
      const auto together = mpirun(processes, line);
      EXPECT_EQ(together.status, alone.status) << together.err;
      EXPECT_EQ(together.out, alone.out) << processes;
    }
  };
  same({"explain", folder}, {1, 2, 3});
  same({"explain", folder, "-f", "json"}, {3});
  same({"check", "--guess", "kernels=6", folder}, {2});
}

TEST_F(MpiTest, ProcessesWithoutAFileDoNotHang) {
  job_in("run", job(1, -1));
  EXPECT_EQ(mpirun(3, "explain run").status, 0);
}

TEST_F(MpiTest, AnErrorOfOneProcessIsTheErrorOfAll) {
  const std::string folder = job_in("run", job(3, -1));
  const auto good = read_file(folder_ / folder / "rank2.json");
  write_file(folder_ / folder / "rank2.json", good.substr(0, good.size() / 2));
  for (const int processes : {2, 3}) {
    const auto outcome = mpirun(processes, "explain run");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    const auto first = outcome.err.find("hunch: ");
    EXPECT_NE(outcome.err.find("run/rank2.json"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("hunch: ", first + 1), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(mpirun(2, "explain nowhere run").status, 2);
  EXPECT_EQ(mpirun(2, "check --guess memcpy=3 run --salvage").status, 1);
}
#else
TEST(MpiTest, NeedsMpi) { GTEST_SKIP() << "hunch was built without MPI"; }
#endif

}  // namespace
}  // namespace hunch::test
