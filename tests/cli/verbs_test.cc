// Each verb does its job: help, version, name, doctor, explain and check on real traces, run on this machine.
#include <gmock/gmock.h>

#include "process.h"

namespace hunch::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Verbs : public CliTest {};

TEST_F(Verbs, HelpStartsWithExamples) {
  for (const auto& words : std::vector<std::vector<std::string>>{{}, {"help"}, {"--help"}, {"-h"}}) {
    const Outcome outcome = hunch(words);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("  hunch run  "));
    for (const char* verb : {"run", "explain", "check", "diff", "record", "why", "name", "doctor", "help"})
      EXPECT_THAT(outcome.out, HasSubstr(std::string("\n  ") + verb + " "));
  }
}

TEST_F(Verbs, HelpOfEachVerbFitsEightyColumns) {
  for (const char* verb : {"run", "explain", "check", "diff", "record", "why", "name", "doctor", "help"}) {
    const Outcome asked = hunch({"help", verb});
    EXPECT_EQ(asked.status, 0);
    EXPECT_THAT(asked.out, StartsWith(std::string("  hunch ") + verb));
    EXPECT_THAT(asked.out, HasSubstr(std::string("usage: hunch ") + verb));
    EXPECT_EQ(hunch({verb, "--help"}).out, asked.out);
    EXPECT_EQ(hunch({verb, "-h"}).out, asked.out);
    std::size_t start = 0;
    while (start < asked.out.size()) {
      const auto end = asked.out.find('\n', start);
      EXPECT_LE(end - start, 80U) << asked.out.substr(start, end - start);
      start = end + 1;
    }
  }
}

TEST_F(Verbs, HelpOfRunNamesTheVariants) {
  EXPECT_THAT(hunch({"help", "run"}).out,
              HasSubstr("Variants: naive, naive_inplace, math, efficient, flash, cudnn."));
}

TEST_F(Verbs, Version) {
  for (const char* word : {"--version", "-V"}) {
    const Outcome outcome = hunch({word});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, testing::MatchesRegex("hunch [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  }
}

TEST_F(Verbs, NameTakesArgumentsAndLines) {
  const std::string gemm = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn";
  const Outcome words = hunch({"name", gemm});
  EXPECT_EQ(words.status, 0);
  EXPECT_THAT(words.out, HasSubstr(gemm));
  EXPECT_THAT(words.out, HasSubstr("matmul"));
  EXPECT_EQ(hunch({"name", "-"}, {}, gemm + "\n\n").out, words.out);
}

TEST_F(Verbs, DoctorTellsWhatIsHere) {
  const Outcome outcome = hunch({"doctor"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* thing : {"CPU", "SIMD", "memory", "oneDNN", "simdjson", "libdeflate", "fmt", "CUDA",
                            "cuDNN", "PyTorch", "chrome_json", "variant flash"})
    EXPECT_THAT(outcome.out, HasSubstr(thing));
}

TEST_F(Verbs, ExplainARealTrace) {
  const Outcome outcome = hunch({"explain", trace("naive.json.gz")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("naive.json.gz"));
  EXPECT_THAT(outcome.out, HasSubstr("NVIDIA H200"));
  EXPECT_THAT(outcome.out, HasSubstr("attn_fwd: 3 runs"));
  EXPECT_THAT(outcome.out, HasSubstr("5 + 1 copy (+ 1 memset)"));
  EXPECT_THAT(outcome.out, HasSubstr("aten::masked_fill"));
  EXPECT_THAT(outcome.out, HasSubstr("hidden_copy"));
}

TEST_F(Verbs, ExplainReadsStandardInput) {
  const Outcome file = hunch({"explain", trace("sdpa_flash.json.gz")});
  const Outcome pipe = hunch({"explain", "-"}, {}, read_file(trace("sdpa_flash.json.gz")));
  EXPECT_EQ(pipe.status, 0) << pipe.err;
  // All but the first line, which names the source.
  EXPECT_EQ(pipe.out.substr(pipe.out.find('\n')), file.out.substr(file.out.find('\n')));
}

TEST_F(Verbs, ExplainEveryTraceAtEveryWidth) {
  for (const auto& entry : std::filesystem::directory_iterator(HUNCH_TEST_DATA "/traces")) {
    if (entry.path().extension() != ".gz") continue;
    const Outcome outcome = hunch({"explain", entry.path().string()}, {"COLUMNS=80"});
    EXPECT_EQ(outcome.status, 0) << entry.path() << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("run")) << entry.path();
    std::size_t start = 0;
    while (start < outcome.out.size()) {
      const auto end = outcome.out.find('\n', start);
      const std::string line = outcome.out.substr(start, end - start);
      const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(line.size() <= 80 || one_word) << entry.path() << ": " << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      start = end + 1;
    }
  }
}

TEST_F(Verbs, ExplainOneRange) {
  const Outcome all = hunch({"explain", trace("llama_train.json.gz")});
  EXPECT_EQ(all.status, 0);
  const Outcome one = hunch({"explain", trace("naive.json.gz"), "--range", "attn_fwd"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("attn_fwd: 3 runs"));
}

TEST_F(Verbs, SalvageReadsWhatIsThere) {
  const std::string cut = write(
      "cut.json",
      R"({"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "attn_fwd", "pid": 1, "tid": 1, "ts": 1.0, "dur": 9.0}, {"ph": "X", "cat": "cpu_op", "na)");
  EXPECT_EQ(hunch({"explain", cut}).status, 2);
  const Outcome salvaged = hunch({"explain", cut, "--salvage"});
  EXPECT_EQ(salvaged.status, 0) << salvaged.err;
  EXPECT_THAT(salvaged.out, HasSubstr("attn_fwd"));
  EXPECT_THAT(salvaged.out, HasSubstr("warning:"));
}

TEST_F(Verbs, CheckHolds) {
  const Outcome outcome = hunch({"check", "--guess", "kernels=5 memcpy=1 memset=1", trace("naive.json.gz")});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("holds, all 3 of it"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("MISS")));
}

TEST_F(Verbs, CheckMissesWithEvidence) {
  const std::string guess = write("guess.toml", "[forward]\nkernels = 5\nmemcpy = 0\n");
  const Outcome outcome = hunch({"check", guess, trace("naive.json.gz")});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("misses 1 of 2"));
  EXPECT_LT(outcome.out.find("MISS"), outcome.out.find("holds  "));
  EXPECT_THAT(outcome.out, HasSubstr("masked_fill"));
  EXPECT_THAT(outcome.out, HasSubstr("event "));
}

TEST_F(Verbs, CheckReadsTheGuessFromStandardInput) {
  const Outcome outcome = hunch({"check", "-", trace("sdpa_flash.json.gz")}, {}, "[forward]\nkernels = 1\n");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

TEST_F(Verbs, RunTheWholeLaboratory) {
  const Outcome outcome = hunch({"run", "--problem", "1x2x64x32", "--trace-dir", "traces/here"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");  // no terminal, no progress
  EXPECT_THAT(outcome.out, HasSubstr("1 x 2 x 64 x 32, bf16, causal"));
  for (const char* variant : {"naive", "naive_inplace", "math", "efficient", "flash", "cudnn"})
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\n") + variant + " "));
  EXPECT_THAT(outcome.out, HasSubstr("5 + 1 copy"));
  EXPECT_THAT(outcome.out, HasSubstr("not available"));
  EXPECT_THAT(outcome.out, HasSubstr("What the trace reveals"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("OVER")));
  // What it wrote, it can read, with the same counts.
  for (const char* variant : {"naive", "naive_inplace", "math", "efficient", "flash"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / "traces/here" / (std::string(variant) + ".json.gz")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "traces/here/cudnn.json.gz"));
  const Outcome read = hunch({"check", "--guess", "kernels=5 memcpy=1", path("traces/here/naive.json.gz")});
  EXPECT_EQ(read.status, 0) << read.out << read.err;
}

TEST_F(Verbs, RunChosenVariantsAndAGuessOfOnesOwn) {
  const std::vector<std::string> run = {"run", "--problem", "1x2x32x16", "--variant", "naive,flash"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = run;
    words.insert(words.end(), more.begin(), more.end());
    return hunch(words);
  };
  EXPECT_EQ(with({}).status, 0);  // shipped guesses may miss
  EXPECT_THAT(with({}).out, Not(HasSubstr("naive_inplace  ")));
  EXPECT_EQ(with({"--guess", "kernels='<= 5'"}).status, 0);
  EXPECT_EQ(with({"--guess", "kernels=1"}).status, 1);
  const std::string each =
      write("each.toml",
            "[forward.\"naive\"]\nkernels = 5\nmemcpy = 1\n[forward.\"flash\"]\nkernels = 1\nmemcpy = 0\n");
  EXPECT_EQ(with({"--guess", each}).status, 0);
}

TEST_F(Verbs, RunTakesEveryKindOfProblem) {
  for (const char* mask : {"none", "causal", "bool", "float"}) {
    for (const char* dtype : {"f32", "bf16", "f16"}) {
      const Outcome outcome =
          hunch({"run", "-p", "1x4x24x16", "--kv-heads", "2", "--kv-length", "40", "--mask", mask, "--dtype",
                 dtype, "--scale", "-0.25", "--steps", "0,1,1", "--threads", "2", "--seed", "7"});
      EXPECT_EQ(outcome.status, 0) << mask << ' ' << dtype << ": " << outcome.err;
      EXPECT_THAT(outcome.out, Not(HasSubstr("OVER"))) << mask << ' ' << dtype;
    }
  }
}

}  // namespace
}  // namespace hunch::test
