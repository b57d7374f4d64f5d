// --fail-on, --per, --range, --top and the formats, as a build script would use them.
#include <gmock/gmock.h>

#include "process.h"

namespace hunch::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ExplainOptions : public CliTest {};

TEST_F(ExplainOptions, FailsOnAFindingAndSaysWhich) {
  const Outcome found = hunch({"explain", trace("naive.json.gz"), "--fail-on", "host_sync,hidden_copy"});
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(found.err, StartsWith("hunch: --fail-on hidden_copy: attn_fwd: 1 copy per forward"));
  EXPECT_THAT(found.out, HasSubstr("attn_fwd"));
  const Outcome absent = hunch({"explain", trace("naive_inplace.json.gz"), "--fail-on", "hidden_copy"});
  EXPECT_EQ(absent.status, 0);
  EXPECT_EQ(absent.err, "");
  EXPECT_EQ(hunch({"explain", trace("naive.json.gz"), "--fail-on", "any"}).status, 1);
}

TEST_F(ExplainOptions, AnUnknownRuleIsAnErrorBeforeTheTraceIsRead) {
  expect_error(hunch({"explain", "no-such-file.json", "--fail-on", "hiden_copy"}),
               {"--fail-on hiden_copy: no such rule", "did you mean 'hidden_copy'?"});
  expect_error(hunch({"explain", trace("naive.json.gz"), "--fail-on", ""}), {"no such rule"});
  expect_error(hunch({"run", "--fail-on", "hiden_copy"}), {"did you mean 'hidden_copy'?"});
}

TEST_F(ExplainOptions, RunFailsOnAFindingOfAVariant) {
  const std::vector<std::string> run = {"run", "--problem", "1x1x64x64", "--variant", "naive", "--fail-on"};
  auto words = run;
  words.push_back("hidden_copy");
  const Outcome found = hunch(words);
  EXPECT_EQ(found.status, 1) << found.err;
  EXPECT_THAT(found.err, HasSubstr("hunch: --fail-on hidden_copy: naive: "));
  words.back() = "graph_launch";
  EXPECT_EQ(hunch(words).status, 0);
}

TEST_F(ExplainOptions, PerTables) {
  const Outcome op = hunch({"explain", trace("naive.json.gz"), "--per", "op"});
  EXPECT_EQ(op.status, 0);
  EXPECT_THAT(op.out, testing::ContainsRegex("aten::masked_fill +1 +1 +1 "));
  const Outcome step = hunch({"explain", trace("naive.json.gz"), "--per", "step"});
  EXPECT_THAT(step.out, testing::AllOf(HasSubstr("run 1"), HasSubstr("run 3"), Not(HasSubstr("run 4 "))));
  const Outcome layer =
      hunch({"explain", trace("llama_sdpa_prefill.json.gz"), "--per", "layer", "-f", "csv"});
  EXPECT_THAT(layer.out, StartsWith("range,layer,calls,"));
  expect_error(hunch({"explain", "no-such-file.json", "--per", "stepp"}), {"did you mean 'step'?"});
}

TEST_F(ExplainOptions, TheSumOfTheAccountIsShown) {
  const Outcome outcome = hunch({"explain", trace("naive.json.gz")});
  EXPECT_THAT(outcome.out, testing::ContainsRegex("sum +2,019,441 +100.0 % +wall time 2,019,441 ns"));
}

TEST_F(ExplainOptions, RangeAndTopWorkInEachFormat) {
  const std::string file = trace("llama_train.json.gz");
  for (const char* format : {"text", "json", "csv", "markdown"}) {
    const Outcome outcome =
        hunch({"explain", file, "--range", "train_step", "--top", "3", "--format", format});
    EXPECT_EQ(outcome.status, 0) << format << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("train_step")) << format;
    EXPECT_THAT(outcome.out, Not(HasSubstr("\nOptimizer.step"))) << format;
    if (std::string_view(format) == "csv") {
      EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
    }
  }
}

TEST_F(ExplainOptions, OtherVerbsHaveTheFormats) {
  EXPECT_THAT(hunch({"name", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "-f", "csv"}).out,
              HasSubstr("\r\nampere_bf16_s16816gemm"));
  const Outcome check =
      hunch({"check", "--guess", "kernels=5 memcpy=0", trace("naive.json.gz"), "-f", "markdown"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, HasSubstr("| **misses** | `attn_fwd` | memcpy | 0 | 1 |"));
  const Outcome run = hunch({"run", "--problem", "1x1x64x64", "--variant", "flash", "-f", "csv"});
  EXPECT_THAT(run.out, StartsWith("variant,available,"));
  expect_error(hunch({"name", "k", "--format", "cvs"}), {"did you mean 'csv'?"});
}

}  // namespace
}  // namespace hunch::test
