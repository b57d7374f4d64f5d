// libhunch_inject.so in a program that uses CUDA as far as it can tell (program.cc): what the program leaves
// when it ends well, badly, or by a signal, with threads, forks and other programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hunch/record/spool/spool_reader.h"
#include "hunch/record/spool/spool_trace.h"

namespace hunch::inject {
namespace {

using record::spool::Spool;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using trace::EventId;
using trace::EventKind;

class Inject : public testing::Test {
 protected:
  Inject() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hunch-inject-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~Inject() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // The exit status, or minus the signal.
  int run(const std::vector<std::string>& words,
          const std::vector<std::pair<std::string, std::string>>& more = {}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("HUNCH_SPOOL_FOLDER", folder_.c_str(), 1);
      ::setenv("CUDA_INJECTION64_PATH", HUNCH_INJECT_LIBRARY, 1);
      ::setenv("NVTX_INJECTION64_PATH", HUNCH_INJECT_LIBRARY, 1);
      for (const auto& [name, value] : more) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> arguments = {const_cast<char*>(HUNCH_INJECT_PROGRAM)};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(HUNCH_INJECT_PROGRAM, arguments.data());
      ::_exit(120);
    }
    child_ = child;
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  // By process, in order of their numbers' texts.
  std::vector<Spool> spools() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<Spool> all;
    for (const std::string& path : paths) {
      auto read = record::spool::read_spool_file(path);
      if (!read) {
        ADD_FAILURE() << base::describe(read.error());
        continue;
      }
      EXPECT_FALSE(read->cut) << path << ": " << *read->cut << " " << read->cut_reason;
      all.push_back(std::move(*read));
    }
    return all;
  }
  Spool spool() const {
    auto all = spools();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Spool() : std::move(all.front());
  }
  static std::size_t count(const trace::Trace& trace, EventKind kind, std::string_view name = {}) {
    std::size_t found = 0;
    for (EventId i = 0; i < trace.size(); ++i)
      if (trace.kind[i] == kind && (name.empty() || trace.name_of(i) == name)) ++found;
    return found;
  }

  std::filesystem::path folder_;
  pid_t child_ = 0;
};

TEST_F(Inject, AProgramThatEndsWellIsWholeInItsSpool) {
  EXPECT_EQ(run({"cuda", "forwards", "4", "exit", "3"}), 3);
  Spool read = spool();
  EXPECT_TRUE(read.ended);
  EXPECT_EQ(read.process.pid, child_);
  EXPECT_EQ(read.process.parent, getpid());
  EXPECT_EQ(read.process.name, "program");
  EXPECT_THAT(read.activity.metadata["hunch command"], HasSubstr("forwards 4"));
  EXPECT_EQ(read.activity.metadata["cupti_version"], "130000");
  const trace::Trace trace = trace_of(std::move(read));
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(count(trace, EventKind::kernel, "matmul()"), 4u);
  EXPECT_EQ(count(trace, EventKind::memcpy, "Memcpy DtoD (Device -> Device)"), 4u);
  EXPECT_EQ(count(trace, EventKind::runtime_call, "cudaLaunchKernel"), 4u);
  EXPECT_EQ(count(trace, EventKind::driver_call), 0u);
  EXPECT_EQ(count(trace, EventKind::annotation, "forward"), 4u);
  EXPECT_EQ(count(trace, EventKind::op, "aten::mm"), 4u);
  std::map<uint64_t, EventId> op_of;
  for (EventId i = 0; i < trace.size(); ++i)
    if (trace.kind[i] == EventKind::op) op_of[trace.external_id[i]] = i;
  int64_t next = 0;
  for (EventId i = 0; i < trace.size(); ++i) {
    if (trace.kind[i] != EventKind::kernel) continue;
    ASSERT_TRUE(op_of.count(trace.external_id[i]));
    const trace::OpDetail* const op = trace.op_detail(op_of[trace.external_id[i]]);
    ASSERT_NE(op, nullptr);
    EXPECT_EQ(op->sequence_number, next++);
    EXPECT_EQ(trace.strings.view(op->input_dims), "[[2,3],[3,4]]");
  }
  EXPECT_EQ(trace.tracks[trace.track[0]].pid, std::to_string(child_));
  EXPECT_EQ(trace.tracks[trace.track[0]].process, "program");
}

TEST_F(Inject, DomainsHandlesAndRangesAcrossThreads) {
  EXPECT_EQ(run({"early", "cuda", "domains", "pop"}), 0);
  const trace::Trace trace = trace_of(spool());
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  for (const char* name : {"early", "registered", "grüß", "across"})
    EXPECT_EQ(count(trace, EventKind::annotation, name), 1u) << name;
  EXPECT_EQ(count(trace, EventKind::op, "ncclAllReduce"), 1u);
  EXPECT_EQ(count(trace, EventKind::kernel, "reduce()"), 1u);
}

TEST_F(Inject, Threads) {
  EXPECT_EQ(run({"cuda", "threads"}), 0);
  const trace::Trace trace = trace_of(spool());
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(count(trace, EventKind::kernel), 10u);
  std::map<uint32_t, int> by_track;
  for (EventId i = 0; i < trace.size(); ++i)
    if (trace.kind[i] == EventKind::annotation) ++by_track[trace.track[i]];
  EXPECT_EQ(by_track.size(), 2u);
  for (const auto& [track, ranges] : by_track) EXPECT_EQ(ranges, 5);
}

// More than a buffer of records and several periods.
TEST_F(Inject, MuchWork) {
  EXPECT_EQ(run({"cuda", "forwards", "20000", "sleep", "600", "forwards", "10"}), 0);
  const trace::Trace trace = trace_of(spool());
  EXPECT_THAT(trace.stats.warnings, IsEmpty());
  EXPECT_EQ(count(trace, EventKind::kernel), 20'010u);
  EXPECT_EQ(count(trace, EventKind::memcpy), 20'010u);
  EXPECT_EQ(count(trace, EventKind::op), 20'010u);
}

struct End {
  std::string name;
  std::vector<std::string> words;
  int status;
  bool whole;  // all is there; else what was written in time
};

class InjectEnds : public Inject, public testing::WithParamInterface<End> {};

TEST_P(InjectEnds, LeavesAValidSpool) {
  std::vector<std::string> words = {"cuda", "early", "forwards", "6"};
  if (!GetParam().whole) words.insert(words.end(), {"sleep", "900"});
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
  EXPECT_EQ(run(words), GetParam().status);
  Spool read = spool();
  EXPECT_EQ(read.ended, GetParam().whole);
  const trace::Trace trace = trace_of(std::move(read));
  EXPECT_EQ(count(trace, EventKind::kernel), 6u);
  EXPECT_EQ(count(trace, EventKind::op), 6u);
  EXPECT_EQ(count(trace, EventKind::annotation, "early"), 1u);
  EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("still open"))) << "the range of which no end came";
  if (GetParam().whole)
    EXPECT_THAT(trace.stats.warnings, Not(Contains(HasSubstr("ended before its recording"))));
  else
    EXPECT_THAT(trace.stats.warnings, Contains(HasSubstr("ended before its recording")));
}

INSTANTIATE_TEST_SUITE_P(
    All, InjectEnds,
    testing::Values(End{"exit", {"exit", "0"}, 0, true}, End{"abort", {"abort"}, -SIGABRT, true},
                    End{"segv", {"segv"}, -SIGSEGV, true}, End{"sent_segv", {"kill", "11"}, -SIGSEGV, true},
                    End{"interrupt", {"kill", "2"}, -SIGINT, true},
                    End{"term", {"kill", "15"}, -SIGTERM, true}, End{"hangup", {"kill", "1"}, -SIGHUP, true},
                    End{"killed", {"kill", "9"}, -SIGKILL, false}, End{"left", {"_exit", "7"}, 7, false},
                    End{"own_handler", {"own-handler", "kill", "15"}, 5, false}),
    [](const auto& end) { return end.param.name; });

TEST_F(Inject, WorkThatHadNotEndedComesAtTheExit) {
  EXPECT_EQ(run({"cuda", "unfinished", "sleep", "600", "exit", "0"}), 0);
  const trace::Trace trace = trace_of(spool());
  EXPECT_EQ(count(trace, EventKind::kernel, "slow()"), 1u);
}

TEST_F(Inject, AForkedChildWritesNothingOfItsParents) {
  EXPECT_EQ(run({"cuda", "forwards", "2", "fork", "forwards", "3"}), 0);
  Spool read = spool();
  EXPECT_EQ(read.process.pid, child_);
  EXPECT_TRUE(read.ended);
  const trace::Trace trace = trace_of(std::move(read));
  EXPECT_EQ(count(trace, EventKind::op), 5u);
  EXPECT_EQ(count(trace, EventKind::runtime_call, "cudaLaunchKernel"), 5u);
}

TEST_F(Inject, EveryProcessHasItsSpool) {
  EXPECT_EQ(run({"spawn", "cuda", "forwards", "1", ".", "cuda", "forwards", "2", "spawn", "cuda", "forwards",
                 "4", ".", "exit", "0"}),
            0);
  std::multiset<std::size_t> kernels;
  for (const Spool& each : spools()) {
    EXPECT_TRUE(each.ended);
    kernels.insert(std::count_if(each.activity.work.begin(), each.activity.work.end(),
                                 [](const auto& work) { return work.kind == base::WorkKind::kernel; }));
  }
  EXPECT_THAT(kernels, testing::ElementsAre(1u, 2u, 4u));
}

TEST_F(Inject, AProcessThatBecomesAnotherProgramHasTwo) {
  EXPECT_EQ(run({"cuda", "forwards", "1", "sleep", "700", "become", "cuda", "forwards", "2"}), 0);
  const auto all = spools();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].process.pid, all[1].process.pid);
}

TEST_F(Inject, WhatCuptiRefusesIsSaidAndTheProgramGoesOn) {
  for (const char* function : {"cuptiSubscribe", "cuptiActivityEnable", "cuptiEnableCallback"}) {
    EXPECT_EQ(run({"cuda", "forwards", "2", "exit", "3"}, {{"FAKE_CUPTI_REFUSES", function}}), 3) << function;
    std::filesystem::path path = folder_ / (std::to_string(child_) + ".spool");
    const auto read = record::spool::read_spool_file(path);
    ASSERT_TRUE(read) << base::describe(read.error());
    EXPECT_TRUE(read->ended);
    EXPECT_THAT(read->activity.warnings,
                Contains(testing::AllOf(HasSubstr(function), HasSubstr("RestrictProfilingToAdminUsers"))));
    EXPECT_THAT(read->activity.work, IsEmpty());
  }
}

TEST_F(Inject, WithoutAFolderNothingHappens) {
  EXPECT_EQ(run({"cuda", "early", "forwards", "2", "exit", "3"}, {{"HUNCH_SPOOL_FOLDER", ""}}), 3);
  EXPECT_EQ(run({"cuda", "early", "forwards", "2", "exit", "3"}, {{"HUNCH_SPOOL_FOLDER", "/nowhere/at all"}}),
            3);
  EXPECT_THAT(spools(), IsEmpty());
}

TEST_F(Inject, ProcessesThatDoNotUseCudaLeaveNothing) {
  EXPECT_EQ(run({"early", "forwards", "2", "exit", "3"}), 3);
  EXPECT_THAT(spools(), IsEmpty());
}

TEST_F(Inject, RanksOfALauncherAreKept) {
  EXPECT_EQ(run({"cuda", "forwards", "1"}, {{"RANK", "3"}, {"WORLD_SIZE", "8"}}), 0);
  const Spool read = spool();
  EXPECT_EQ(read.activity.metadata.at("distributedInfo.rank"), "3");
  EXPECT_EQ(read.activity.metadata.at("distributedInfo.world_size"), "8");
}

}  // namespace
}  // namespace hunch::inject
