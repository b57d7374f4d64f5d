// `hunch diff` as a person or a CI job runs it, on real traces: words, statuses, formats, and what it
// refuses.
#include <gmock/gmock.h>
#include <simdjson.h>

#include "process.h"

namespace hunch::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Diff : public CliTest {
 protected:
  Outcome diff(const std::string& before, const std::string& after,
               std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"diff", trace(before + ".json.gz"), trace(after + ".json.gz")};
    words.insert(words.end(), more.begin(), more.end());
    return hunch(words);
  }
  // A trace in which range "step" launches kernels of these microseconds, once a run.
  std::string made(const std::string& name, const std::vector<int>& times,
                   const std::string& device = "GPU A", const std::string& kernel = "some_kernel",
                   const std::string& dims = "[[8, 8]]") const {
    std::string events;
    int id = 0;
    for (const int time : times) {
      const int at = 10000 * id;
      const auto add = [&](const std::string& text) { events += (events.empty() ? "" : ",\n") + text; };
      const auto span = [](int start, int length) {
        return R"("ts": )" + std::to_string(start) + R"(, "dur": )" + std::to_string(length);
      };
      ++id;
      add(R"({"ph": "X", "cat": "user_annotation", "name": "step", "pid": 1, "tid": 1, )" + span(at, 5000) +
          "}");
      add(R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, )" + span(at + 1, 50) +
          R"(, "args": {"Input Dims": )" + dims + "}}");
      if (time == 0) continue;
      const std::string correlation = R"("args": {"correlation": )" + std::to_string(id);
      add(R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, )" +
          span(at + 2, 5) + ", " + correlation + "}}");
      add(R"({"ph": "X", "cat": "kernel", "name": ")" + kernel + R"(", "pid": 0, "tid": 7, )" +
          span(at + 100, time) + ", " + correlation + R"(, "device": 0, "stream": 7}})");
    }
    return write(name, R"({"deviceProperties": [{"id": 0, "name": ")" + device + R"("}], "traceEvents": [)" +
                           events + "]}");
  }
};

TEST_F(Diff, TellsTheCopyThatIsGoneAndWhy) {
  const Outcome outcome = diff("naive", "naive_inplace");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("vanished"));
  EXPECT_THAT(outcome.out, HasSubstr("hidden_copy"));
  EXPECT_THAT(outcome.out, HasSubstr("clones its input before it fills"));
  EXPECT_THAT(outcome.out, HasSubstr("within noise"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("slower")));
}

TEST_F(Diff, ATraceAgainstItselfHasNoDifferences) {
  for (const char* name : {"naive", "sdpa_cudnn", "llama_train", "sdpa_math"}) {
    const Outcome outcome = diff(name, name, {"--fail-on", "any"});
    EXPECT_EQ(outcome.status, 0) << name << "\n" << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("No differences: the same work in the same time."));
    EXPECT_THAT(outcome.out, Not(HasSubstr("What changed")));
  }
}

TEST_F(Diff, FitsTheWidth) {
  for (const char* columns : {"80", "120"}) {
    const Outcome shown = hunch_on_terminal(
        {"diff", trace("naive.json.gz"), trace("sdpa_math.json.gz"), "--range", "attn_fwd=sdpa_fwd"},
        static_cast<unsigned short>(std::stoi(columns)), {"NO_COLOR=1", "LC_ALL=C"});
    std::size_t start = 0;
    while (start < shown.out.size()) {
      const auto end = std::min(shown.out.find('\n', start), shown.out.size());
      const std::string line = shown.out.substr(start, end - start);
      const bool is_path = line.find("json.gz") != std::string::npos;  // one word, however long
      EXPECT_TRUE(is_path || line.size() <= std::stoul(columns)) << line;
      start = end + 1;
    }
  }
}

TEST_F(Diff, JsonAddsUp) {
  for (const auto& [before, after] :
       std::vector<std::pair<std::string, std::string>>{{"naive", "naive_inplace"},
                                                        {"naive", "sdpa_flash"},
                                                        {"llama_eager_prefill", "llama_sdpa_prefill"}}) {
    const Outcome outcome = diff(before, after, {"--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    simdjson::dom::parser parser;
    const simdjson::padded_string text(outcome.out);
    simdjson::dom::element root;
    ASSERT_EQ(parser.parse(text).get(root), simdjson::SUCCESS);
    EXPECT_EQ(int64_t(root["schema_version"]), 1);
    for (const simdjson::dom::element forward : simdjson::dom::array(root["forwards"])) {
      int64_t sum = 0;
      for (const simdjson::dom::element item : simdjson::dom::array(forward["items"]))
        sum += int64_t(item["difference_ns"]);
      EXPECT_EQ(sum, int64_t(forward["account"]["sum_ns"]));
      EXPECT_EQ(sum, int64_t(forward["totals"]["device_ns"]["difference"]));
      EXPECT_NE(sum, 0);
    }
  }
}

TEST_F(Diff, FailsOnWhatCiForbids) {
  EXPECT_EQ(diff("naive", "naive_inplace", {"--fail-on", "slower,kernels,appeared,backend,copies"}).status,
            0);
  const Outcome back = diff("naive_inplace", "naive", {"--fail-on", "slower=5%,copies,hidden_copy"});
  EXPECT_EQ(back.status, 1);
  EXPECT_THAT(back.out, HasSubstr("FAILED slower=5%: attn_fwd: 937 us before, 1.06 ms after (+13.5 %)"));
  EXPECT_THAT(back.out, HasSubstr("FAILED copies: attn_fwd: 0 before, 1 after"));
  EXPECT_THAT(back.out, HasSubstr("FAILED hidden_copy: attn_fwd: hidden_copy: 1 copy per forward"));
  EXPECT_EQ(diff("naive_inplace", "naive", {"--fail-on", "slower=50%"}).status, 0);
  EXPECT_EQ(diff("sdpa_flash", "sdpa_cudnn", {"--fail-on", "backend"}).status, 1);
  expect_error(diff("sdpa_flash", "sdpa_cudnn", {"--fail-on", "memory"}),
               {"--fail-on memory", "profile_memory"});
  EXPECT_EQ(diff("sdpa_flash", "sdpa_cudnn", {"--fail-on", "slower", "--fail-on", "kernels"}).status, 0);
}

TEST_F(Diff, WrongWordsAreOneClearError) {
  const std::string naive = trace("naive.json.gz");
  expect_error(hunch({"diff"}), {"two traces are missing"});
  expect_error(hunch({"diff", naive}), {"only one trace is given"});
  expect_error(hunch({"diff", naive, naive, naive}), {"two traces, not 3"});
  expect_error(hunch({"diff", "-", "-"}), {"standard input cannot be both"});
  expect_error(hunch({"diff", naive, path("none.json")}), {"none.json"});
  expect_error(hunch({"diff", naive, naive, "--fail-on", "slwer"}), {"unknown condition", "slower"});
  expect_error(hunch({"diff", naive, naive, "--fail-on", "hiden_copy"}), {"hidden_copy"});
  expect_error(hunch({"diff", naive, naive, "--fail-on", ""}), {"a condition is missing"});
  expect_error(hunch({"diff", naive, naive, "--fail-on", "slower=fast"}), {"not a percentage"});
  expect_error(hunch({"diff", naive, naive, "--fail-on", "backend=5%"}), {"takes no percentage"});
  expect_error(hunch({"diff", naive, naive, "--range", "attn_fw"}), {"no such range", "attn_fwd"});
  expect_error(hunch({"diff", naive, trace("sdpa_flash.json.gz"), "--range", "attn_fwd=sdpa_fw"}),
               {"sdpa_flash.json.gz", "no such range", "sdpa_fwd"});
  expect_error(hunch({"diff", trace("llama_train.json.gz"), trace("train_sdpa_flash.json.gz")}),
               {"no range has the same name", "train_step", "fwd", "--range"});
}

TEST_F(Diff, RefusesWhatRecordedNothing) {
  const std::string with = made("with.json", {10, 10, 10}), without = made("without.json", {0, 0, 0});
  expect_error(hunch({"diff", with, without}), {"without.json", "no device work"});
  expect_error(hunch({"diff", without, with}), {"without.json", "no device work"});
  const std::string train = trace("llama_train.json.gz");
  expect_error(hunch({"diff", train, train, "--range", "Optimizer.zero_grad#AdamW.zero_grad"}),
               {"ran no kernel"});
}

TEST_F(Diff, NamesOtherDevicesAndShapes) {
  const Outcome outcome = hunch({"diff", made("a.json", {10, 10, 10}, "GPU A", "k", "[[8, 8]]"),
                                 made("b.json", {10, 10, 10}, "GPU B", "k", "[[16, 8]]")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("other devices: GPU A before, GPU B after"));
  EXPECT_THAT(outcome.out, HasSubstr("other shapes in 1 of 1 steps"));
}

TEST_F(Diff, ClaimsNothingThatOneRunCannotTell) {
  const std::string one = made("one.json", {100});
  const Outcome little = hunch({"diff", one, made("little.json", {110}), "--fail-on", "slower"});
  EXPECT_EQ(little.status, 0);
  EXPECT_THAT(little.out, HasSubstr("one run has no spread"));
  const Outcome large = hunch({"diff", one, made("large.json", {300}), "--fail-on", "slower"});
  EXPECT_EQ(large.status, 1);
  EXPECT_THAT(large.out, HasSubstr("large, but one run has no spread"));
}

TEST_F(Diff, StandardInputIsEitherTrace) {
  const std::string bytes = read_file(trace("naive.json.gz"));
  const Outcome outcome = hunch({"diff", "-", trace("naive_inplace.json.gz")}, {}, bytes);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("standard input"));
}

}  // namespace
}  // namespace hunch::test
