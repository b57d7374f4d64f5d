// `hunch run --provider`: which variants run, what a wrong word gets, and what is said without PyTorch; with
// it, the table, JSON and guesses of both providers.
#include <gmock/gmock.h>

#include "process.h"

namespace hunch::test {
namespace {

using testing::HasSubstr;

class Providers : public CliTest {
 protected:
  static bool has_torch() { return HUNCH_HAS_TORCH != 0; }
};

TEST_F(Providers, AWrongWordGetsAHint) {
  expect_error(hunch({"run", "--provider", "troch"}),
               {"--provider troch: no such provider", "did you mean 'torch'?"});
  expect_error(hunch({"run", "--provider", "native,"}), {"no such provider", "native", "torch"});
  expect_error(hunch({"run", "--variant", "torch.flsh"}),
               {"--variant torch.flsh: no such variant", "did you mean 'torch.flash'?"});
  expect_error(hunch({"run", "--provider", "native", "--variant", "torch.flash"}),
               {"--variant torch.flash: --provider leaves it out", "--provider torch"});
  expect_error(hunch({"run", "--guess", write("who.toml", "[forward.\"torch.flash\"]\nkernels = 1\n")}),
               {"torch.flash", "does not run", "--provider torch"});
  expect_error(hunch({"run", "--guess", write("typo.toml", "[forward.\"torch.flsh\"]\nkernels = 1\n")}),
               {"there is no variant 'torch.flsh'", "did you mean 'torch.flash'?"});
}

TEST_F(Providers, NativeIsTheDefault) {
  const Outcome outcome = hunch(
      {"run", "--provider", "native", "--variant", "naive", "--problem", "1x1x8x8", "--format", "json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"provider\": \"native\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"backend\": \"naive\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"first_call\": {\"prepare_ns\": "));
}

TEST_F(Providers, WithoutThePlugInThereIsOneClearError) {
  for (const char* option : {"--provider=torch", "--provider=native,torch", "--variant=torch.flash"}) {
    const Outcome outcome = hunch({"run", option}, {"HUNCH_TORCH_PLUGIN=/nowhere/libhunch_torch.so"});
    expect_error(outcome,
                 {"--provider torch: HUNCH_TORCH_PLUGIN=/nowhere/libhunch_torch.so: no such file", "try:"});
  }
  const std::string other = write("libhunch_torch.so", "no library");
  expect_error(hunch({"run", "--provider", "torch"}, {"HUNCH_TORCH_PLUGIN=" + other}),
               {"--provider torch: the PyTorch that", other, "LD_LIBRARY_PATH"});
  if (has_torch()) GTEST_SKIP() << "this build has the plug-in; what is said without it is tested without it";
  expect_error(hunch({"run", "--provider", "torch"}), {"--provider torch: this hunch has no PyTorch plug-in",
                                                       "pip install torch", "HUNCH_TORCH=ON"});
  const Outcome doctor = hunch({"doctor"});
  EXPECT_EQ(doctor.status, 0);
  EXPECT_THAT(doctor.out, HasSubstr("this hunch has no PyTorch plug-in"));
}

TEST_F(Providers, BothInOneTable) {
  if (!has_torch()) GTEST_SKIP() << "this build has no PyTorch plug-in";
  const std::string folder = path("traces");
  const Outcome outcome = hunch({"run", "--provider", "native,torch", "--problem", "1x2x32x16", "--variant",
                                 "naive,efficient,flash", "--trace-dir", folder});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("provider torch: PyTorch 2."));
  const auto at = [&](const char* name) { return outcome.out.find(std::string("\n") + name); };
  EXPECT_LT(at("naive "), at("torch.naive "));
  EXPECT_LT(at("torch.naive "), at("efficient "));
  EXPECT_THAT(outcome.out, HasSubstr("PyTorch says: "));
  EXPECT_THAT(outcome.out, HasSubstr("the calling thread"));
  // The recording, read back.
  const Outcome explained = hunch({"explain", folder + "/torch.naive.json.gz"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("5 + 1 copy"));
  EXPECT_THAT(explained.out, HasSubstr("hidden_copy"));
  EXPECT_THAT(explained.out, HasSubstr("aten::masked_fill"));
}

TEST_F(Providers, JsonAndGuesses) {
  if (!has_torch()) GTEST_SKIP() << "this build has no PyTorch plug-in";
  const std::vector<std::string> words = {"run",        "--provider", "native,torch", "--problem",
                                          "1x2x256x16", "--variant",  "naive,flash"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return hunch(more);
  };
  const Outcome json = with({"--format", "json"});
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"name\": \"torch.flash\""));
  EXPECT_THAT(json.out, HasSubstr("{\"name\": \"torch\", \"library\": \"PyTorch 2."));
  EXPECT_THAT(json.out, HasSubstr("\"provider\": \"torch\""));
  // Guesses about one provider's variant, and a bound that names the other's.
  const std::string right =
      write("right.toml",
            "[forward.\"torch.flash\"]\nkernels = 1\nbackend = \"flash\"\npeak_memory = \"< torch.naive\"\n");
  EXPECT_EQ(with({"--guess", right}).status, 0);
  const std::string wrong = write("wrong.toml", "[forward.\"torch.naive\"]\nmemcpy = 0\n");
  const Outcome missed = with({"--guess", wrong});
  EXPECT_EQ(missed.status, 1);
  EXPECT_THAT(missed.out, HasSubstr("torch.naive: the guess misses"));
  EXPECT_THAT(missed.out, HasSubstr("hidden_copy"));
}

}  // namespace
}  // namespace hunch::test
