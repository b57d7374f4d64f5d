// `hunch record`: the command runs as in a shell, what its processes leave becomes traces, and what goes
// wrong is one clear line. The recorded program is a stand-in (record_program.cc) that writes spools by
// itself.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace hunch::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RecordTest : public CliTest {
 protected:
  // The library is never loaded here: nothing uses CUDA.
  RecordTest() : library_(write("libhunch_inject.so", "not opened")) {}

  Outcome record(std::vector<std::string> words, std::vector<std::string> options = {},
                 const std::string& input = {}) const {
    std::vector<std::string> all = {"record"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", HUNCH_RECORD_PROGRAM});
    all.insert(all.end(), words.begin(), words.end());
    return hunch(all, {"HUNCH_INJECTION=" + library_, "TMPDIR=" + path("")}, input);
  }
  // Names of files in the folder that are not this test's own.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name != "libhunch_inject.so" && name[0] != '.') names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string explained(const std::string& trace) const {
    const Outcome outcome = hunch({"explain", trace, "--format", "json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }

  const std::string library_;
};

TEST_F(RecordTest, AProgramsTraceIsExplained) {
  const Outcome outcome = record({"cuda", "say", "its own words", "forwards", "3", "end"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "its own words\n");
  EXPECT_THAT(files(), testing::ElementsAre("record.json.gz"));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("exit status 0"), HasSubstr("hunch explain record.json.gz"),
                                 HasSubstr("record_program")));
  EXPECT_TRUE(std::regex_search(outcome.err,
                                std::regex("record_program +[0-9]+ +3 +3 +0 +4.20 us +3 +record.json.gz")))
      << outcome.err;
  const std::string report = explained("record.json.gz");
  EXPECT_THAT(report, AllOf(HasSubstr("\"attn_fwd\""), HasSubstr("\"runs\": 3"), HasSubstr("\"kernels\": 1"),
                            HasSubstr("\"memcpy\": 1")));
}

TEST_F(RecordTest, TheStatusIsTheCommands) {
  EXPECT_EQ(record({"cuda", "forwards", "1", "end", "exit", "3"}).status, 3);
  const Outcome killed = record({"cuda", "forwards", "1", "kill", "9"});
  EXPECT_EQ(killed.status, 128 + SIGKILL);
  EXPECT_THAT(killed.err, AllOf(HasSubstr("ended by SIGKILL"), HasSubstr("ended before its recording did")));
  EXPECT_THAT(explained("record.json.gz"), HasSubstr("\"attn_fwd\""));
  EXPECT_EQ(record({"cuda", "forwards", "1", "kill", "11"}).status, 128 + SIGSEGV);
  EXPECT_EQ(record({"exit", "4"}).status, 4) << "also where nothing is recorded";
}

TEST_F(RecordTest, CommandsThatDoNotStart) {
  const std::vector<std::string> environment = {"HUNCH_INJECTION=" + library_};
  const Outcome missing = hunch({"record", "--", "no-such-program-anywhere"}, environment);
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.err,
            "hunch: record: cannot find the command 'no-such-program-anywhere' (try: check its name, or "
            "give its path)\n");
  const std::string script = write("script.py", "print(1)\n");
  const Outcome closed = hunch({"record", script}, environment);
  EXPECT_EQ(closed.status, 126);
  EXPECT_THAT(closed.err, AllOf(HasSubstr("cannot run '" + script + "'"), HasSubstr("Permission denied")));
  EXPECT_EQ(hunch({"record", "/"}, environment).status, 126);
  EXPECT_THAT(files(), testing::ElementsAre("script.py"));
}

TEST_F(RecordTest, OptionsOfTheCommandAreItsOwn) {
  const std::vector<std::string> environment = {"HUNCH_INJECTION=" + library_, "TMPDIR=" + path("")};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"record", "-o", "a.json", "sh", "-c", "echo $0 $*", "--output", "-o", "--"},
        {"record", "--output=a.json", "--", "sh", "-c", "echo $0 $*", "--output", "-o", "--"},
        {"record", "--output", "a.json", "sh", "-c", "echo $0 $*", "--output", "-o", "--"}}) {
    const Outcome outcome = hunch(words, environment);
    EXPECT_EQ(outcome.out, "--output -o --\n") << outcome.err;
  }
  expect_error(hunch({"record", "--outptu", "a.json", "true"}, environment), {"--output"});
  expect_error(hunch({"record", "-o", "a.json"}, environment), {"a command is missing"});
  expect_error(hunch({"record"}, environment), {"a command is missing", "hunch record -- python3"});
  expect_error(hunch({"record", "-o", "-", "true"}, environment), {"standard output"});
}

TEST_F(RecordTest, SeveralProcessesHaveATraceEach) {
  const Outcome outcome = record({"spawn", "cuda", "forwards", "2", "end", ".", "spawn", "cuda", "end", ".",
                                  "cuda", "forwards", "5", "end"},
                                 {"-o", "run.json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto names = files();
  ASSERT_EQ(names.size(), 2u);
  for (const std::string& name : names) {
    EXPECT_TRUE(std::regex_match(name, std::regex("run\\.[0-9]+\\.json"))) << name;
    EXPECT_THAT(outcome.err, HasSubstr(name));
    EXPECT_THAT(explained(name), HasSubstr("\"attn_fwd\""));
  }
  EXPECT_THAT(outcome.err, HasSubstr("1 more process used CUDA and had nothing run on a device"));
  EXPECT_EQ(hunch({"explain", names[0], names[1]}).status, 0);
}

TEST_F(RecordTest, NothingRecordedIsSaid) {
  Outcome outcome = record({"exit", "0"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("nothing was recorded: no process of it used CUDA"));
  outcome = record({"cuda", "note", "cuptiSubscribe failed", "end", "exit", "0"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("cuptiSubscribe failed"), HasSubstr("1 process used CUDA, and nothing ran")));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(RecordTest, SignalsReachTheCommandAndItsStreamsAreIts) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const Outcome outcome = record({"cuda", "forwards", "1", "end", "parent", std::to_string(signal)});
    EXPECT_EQ(outcome.status, 41) << signal << ": " << outcome.err;
  }
  EXPECT_EQ(record({"echo"}, {}, "from standard input").out, "from standard input");
  EXPECT_EQ(record({"cuda", "forwards", "1", "end", "pipe-signal"}).status, 0);
}

TEST_F(RecordTest, AProcessThatOutlivesTheCommandIsWaitedForAShortWhile) {
  Outcome outcome = record({"spawn", "linger", "cuda", "forwards", "1", "sleep", "500", "forwards", "2",
                            "end", ".", "sleep", "200"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(explained("record.json.gz"), HasSubstr("\"runs\": 3"));
  outcome = record({"spawn", "linger", "cuda", "forwards", "1", "sleep", "4000", "end", ".", "sleep", "200"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("still runs"), Not(HasSubstr("ended before"))));
  EXPECT_THAT(explained("record.json.gz"), HasSubstr("\"runs\": 1"));
}

TEST_F(RecordTest, WhatCannotBeWrittenIsSaidBeforeTheCommandRuns) {
  const std::vector<std::string> environment = {"HUNCH_INJECTION=" + library_};
  expect_error(hunch({"record", "-o", "no/folder/x.json", "--", "sh", "-c", "echo ran"}, environment),
               {"no/folder/x.json"});
  expect_error(hunch({"record", "--", "sh", "-c", "echo ran"}, {"HUNCH_INJECTION=/no/such.so"}),
               {"/no/such.so"});
  expect_error(hunch({"record", "--", "sh", "-c", "echo ran"},
                     {"HUNCH_INJECTION=" + library_, "TMPDIR=" + path("nowhere")}),
               {"TMPDIR"});
}

TEST_F(RecordTest, SpoolsThatCannotBeReadAreKept) {
  const Outcome outcome = record({"cuda", "forwards", "2", "end", "break-spools", "exit", "0"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("no spool of a recording"), HasSubstr("stays in")));
  ASSERT_EQ(files().size(), 1u);
  const std::string kept = files()[0];
  EXPECT_TRUE(kept.starts_with("hunch-record-"));
  expect_error(hunch({"record", "--from", kept}), {"1.spool", "no spool of a recording"});
  std::filesystem::remove(folder_ / kept / "1.spool");
  const Outcome again = hunch({"record", "--from", kept, "-o", "later.json"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("hunch explain later.json"));
  EXPECT_THAT(explained("later.json"), HasSubstr("\"runs\": 2"));
  EXPECT_THAT(files(), testing::Contains(kept));
  expect_error(hunch({"record", "--from", "no such folder"}), {"no such folder"});
  expect_error(hunch({"record", "--from", kept, "true"}), {"exclude each other"});
}

TEST_F(RecordTest, AnotherToolsInjectionIsNamed) {
  const Outcome outcome = hunch({"record", "--", HUNCH_RECORD_PROGRAM, "cuda", "forwards", "1", "end"},
                                {"HUNCH_INJECTION=" + library_, "CUDA_INJECTION64_PATH=/opt/other/tool.so"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("CUDA_INJECTION64_PATH is set to /opt/other/tool.so"));
}

}  // namespace
}  // namespace hunch::test
