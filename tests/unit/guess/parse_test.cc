// Guesses as text: every metric in both notations, and each kind of mistake with its place and remedy.
#include <gtest/gtest.h>

#include "hunch/guess/guess.h"
#include "hunch/guess/metrics.h"
#include "hunch/guess/operand.h"
#include "hunch/guess/shipped.h"

namespace hunch::guess {
namespace {

TEST(ParseToml, ReadsEveryMetric) {
  const auto guess = parse_guess_toml(R"([forward]
kernels      = 5
memcpy       = "0"
memset       = "<= 1"
sequence     = ["matmul", "mul", "softmax"]
backend      = "flash"
dtype        = "bf16"
tensor_cores = true
device_time  = "< 2 ms"
busy_time    = "1 ms..2 ms"
host_time    = "< 200 us"
occupancy    = ">= 10 %"
peak_memory  = "< 2 MiB"
)",
                                      "g.toml");
  ASSERT_TRUE(guess) << base::describe(guess.error());
  EXPECT_EQ(guess->expectations.size(), metrics().size());
  for (const auto& metric : metrics()) {
    const auto found = std::find_if(guess->expectations.begin(), guess->expectations.end(),
                                    [&](const auto& e) { return e.metric == metric.name; });
    EXPECT_NE(found, guess->expectations.end()) << metric.name;
  }
}

TEST(ParseToml, NamesRanges) {
  const auto guess =
      parse_guess_toml("[forward.\"attn fwd\"]\nkernels = 1\n[forward.bwd]\nkernels = 5\n", "g.toml");
  ASSERT_TRUE(guess) << base::describe(guess.error());
  ASSERT_EQ(guess->expectations.size(), 2u);
  EXPECT_EQ(guess->expectations[0].range, "attn fwd");
  EXPECT_EQ(guess->expectations[1].range, "bwd");
}

struct BadToml {
  const char* text;
  const char* message;
  const char* remedy;
  int byte;
};

TEST(ParseToml, SaysWhatIsWrongAndWhere) {
  const BadToml cases[] = {
      {"[forward]\nkernals = 5\n", "there is no metric 'kernals'", "did you mean 'kernels'?", 10},
      {"[forward]\nkernels = \"five\"\n", "kernels: 'five' is not a value", "\">= 1\"", 10},
      {"[forward]\nkernels = 1.5\n", "kernels: '1.5'", "1..3", 10},
      {"[forward]\ndevice_time = \"2 ms\"\n", "asks for one exact time", "< 2 ms", 10},
      {"[forward]\ndevice_time = \"< 2\"\n", "is not a time with a unit", "< 2 ms", 10},
      {"[forward]\ntensor_cores = \"yes\"\n", "neither true nor false", "true or false", 10},
      {"[forward]\nsequence = [1, 2]\n", "a kind that no metric has", "list of texts", 10},
      {"[foward]\nkernels = 5\n", "'foward' is not [forward]", "[forward]", 1},
      {"kernels = 5\n", "'kernels' is not [forward]", "[forward]", 0},
      {"[forward]\nkernels = \n", "not TOML", "[forward]", 20},
      {"[forward]\nkernels = \"3..1\"\n", "ends before it starts", "1..3", 10},
  };
  for (const auto& bad : cases) {
    const auto guess = parse_guess_toml(bad.text, "g.toml");
    ASSERT_FALSE(guess) << bad.text;
    EXPECT_NE(guess.error().message.find(bad.message), std::string::npos) << guess.error().message;
    EXPECT_NE(guess.error().remedy.find(bad.remedy), std::string::npos) << guess.error().remedy;
    EXPECT_EQ(guess.error().file, "g.toml");
    ASSERT_TRUE(guess.error().byte.has_value()) << bad.text;
    EXPECT_EQ(static_cast<int>(*guess.error().byte), bad.byte) << bad.text;
  }
  EXPECT_FALSE(parse_guess_toml("", "g.toml"));
  EXPECT_FALSE(parse_guess_toml("[forward]\n", "g.toml"));
}

TEST(ParseToml, LettersBeyondAsciiStandInQuotesAndComments) {
  const auto guess = parse_guess_toml(
      "\xEF\xBB\xBF# gr\xC3\xBC\xC3\x9F e\n[forward.\"na\xC3\xAFve \\\" \xE6\xB3\xA8\"]\nkernels = 1 # "
      "\xE2\x80\xA8 \xCB\x8D\n"
      "backend = \"\"\"flash\"\"\"\n",
      "g.toml");
  ASSERT_TRUE(guess) << base::describe(guess.error());
  EXPECT_EQ(guess->expectations[0].range, "na\xC3\xAFve \" \xE6\xB3\xA8");
  for (const char* text :
       {"k\xCB\x8Dw = 1", "[forward]\nkern\xC3\xA4ls = 1", "\xC2\xA0", "x = \"\"\"a\"\"\"\" \xC3\xA4"}) {
    const auto stray = parse_guess_toml(text, "g.toml");
    ASSERT_FALSE(stray) << text;
    EXPECT_NE(stray.error().message.find("not TOML"), std::string::npos) << stray.error().message;
    EXPECT_LE(stray.error().byte.value_or(99), std::string_view(text).size());
  }
  const auto stray = parse_guess_toml("[forward]\n\xC3\xA4 = 1", "g.toml");
  ASSERT_FALSE(stray);
  EXPECT_NE(stray.error().message.find("beyond ASCII"), std::string::npos) << stray.error().message;
  EXPECT_EQ(stray.error().byte, 10u);
  const auto tilde = parse_guess_toml("[forward.\"~a~41\"]\nkernels = 1", "g.toml");
  ASSERT_TRUE(tilde);
  EXPECT_EQ(tilde->expectations[0].range, "~a~41");
}

TEST(ParseWords, ReadsQuotesRelationsAndRanges) {
  const auto guess = parse_guess_words(
      "kernels=5 memcpy>=0 device_time='< 2 ms' host_time<200us range=bwd sequence=a,b occupancy>=10 %");
  ASSERT_TRUE(guess) << base::describe(guess.error());
  ASSERT_EQ(guess->expectations.size(), 6u);
  EXPECT_EQ(guess->expectations[1].expected, ">=0");
  EXPECT_EQ(guess->expectations[2].expected, "< 2 ms");
  EXPECT_EQ(guess->expectations[3].expected, "<200us");
  EXPECT_EQ(guess->expectations[4].range, "bwd");
  EXPECT_EQ(guess->expectations[5].expected, ">=10 %");
}

TEST(ParseWords, SaysWhatIsWrongAndWhere) {
  const auto typo = parse_guess_words("kernels=5 memcopy=0");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().byte, 10u);
  EXPECT_NE(typo.error().remedy.find("memcpy"), std::string::npos);
  EXPECT_FALSE(parse_guess_words(""));
  EXPECT_FALSE(parse_guess_words("kernels"));
  EXPECT_FALSE(parse_guess_words("=5"));
  EXPECT_FALSE(parse_guess_words("kernels='5"));
  EXPECT_FALSE(parse_guess_words("kernels=5 kernels=6"));
  EXPECT_FALSE(parse_guess_words("kernels=-1"));
}

TEST(ParseWords, RefusesWhatCouldOnlyEverMissOrHold) {
  struct Case {
    const char* words;
    uint64_t byte;
    const char* message;
    const char* remedy;
  };
  const Case cases[] = {
      {"kernels=1 backend!", 10, "'backend!' is not metric=value", "backend=flash"},
      {"occupancy", 0, "'occupancy' is not metric=value", "occupancy='>= 10 %'"},
      {"kernels=1 backend!=flash", 17, "there is no relation '!='", "<="},
      {"backend<flash", 0, "has a relation", "flash"},
      {"backend=>flash", 0, "has a relation", "flash"},
      {"backend=!flash", 0, "has a relation", "flash"},
      {"memcpy=0 backend=flsh", 9, "'flsh' is no backend", "did you mean 'flash'"},
      {"backend=flash!", 0, "'flash!' is no backend", "did you mean 'flash'"},
      {"backend=flash+", 0, "'' is no backend", ""},
      {"backend=torch.flash", 0, "'torch.flash' is no backend", ""},
      {"dtype=bfloat16", 0, "'bfloat16' is written bf16 here", "dtype=bf16"},
      {"dtype=bf16!", 0, "'bf16!' is no type", "bf16"},
      {"sequence=>matmul", 0, "has a relation", "matmul"},
      {"backend=flash ms", 14, "'ms' is not metric=value", ""},
      {"occupancy=nan", 0, "is not a value", ">= 10 %"},
      {"occupancy<inf", 0, "is not a value", ">= 10 %"},
      {"peak_memory<inf", 0, "is not a value", "MiB"},
      {"device_time<nan", 0, "is not a time", "2 ms"},
      {"device_time<99999999999999999999s", 0, "is not a time", "2 ms"},
      {"kernels=-5..5", 0, "is negative", "1..3"},
      {"occupancy='> 500 %'", 0, "is above 100 %", "10 %"},
      {"kernels=5 range=fwd", 10, "stands behind all metrics", "before"},
      {"range= kernels=5", 0, "names no range", "range='name'"},
      {"range<x kernels=5", 0, "names no range", "range='name'"},
      {"range==x kernels=5", 0, "names no range", "range='name'"},
  };
  for (const Case& c : cases) {
    const auto guess = parse_guess_words(c.words);
    ASSERT_FALSE(guess) << c.words;
    EXPECT_EQ(guess.error().byte, c.byte) << c.words;
    EXPECT_NE(guess.error().message.find(c.message), std::string::npos) << guess.error().message;
    EXPECT_NE(guess.error().remedy.find(c.remedy), std::string::npos) << guess.error().remedy;
  }
}

TEST(ParseWords, TwoEqualSignsAreOneAndOrderDoesNotMatter) {
  const auto guess = parse_guess_words("backend==math+flash tensor_cores==true sequence==matmul,softmax");
  ASSERT_TRUE(guess) << base::describe(guess.error());
  EXPECT_EQ(parse_operand(ValueKind::text, guess->expectations[0].expected)->text, "flash+math");
  EXPECT_EQ(parse_operand(ValueKind::flag, guess->expectations[1].expected)->text, "true");
  EXPECT_EQ(parse_operand(ValueKind::sequence, guess->expectations[2].expected)->elements.size(), 2u);
}

TEST(ParseToml, ValuesOfAnotherKindAreRefused) {
  for (const char* line : {"backend = [\"flash\", \"math\"]", "backend = 5", "dtype = true",
                           "kernels = [\"5\"]", "occupancy = nan", "occupancy = inf", "backend = \"flsh\""}) {
    const auto guess = parse_guess_toml(std::string("[forward]\n") + line + "\n", "guess.toml");
    ASSERT_FALSE(guess) << line;
    EXPECT_EQ(guess.error().byte, 10u) << line;
    EXPECT_FALSE(guess.error().remedy.empty()) << line;
  }
}

TEST(Operand, JudgesEachRelationAtItsEdge) {
  struct Case {
    ValueKind kind;
    const char* text;
    double in, out;
  };
  const Case cases[] = {{ValueKind::count, "5", 5, 6},
                        {ValueKind::count, "== 5", 5, 4},
                        {ValueKind::count, "1..3", 3, 4},
                        {ValueKind::count, ">= 1", 1, 0},
                        {ValueKind::count, "> 1", 2, 1},
                        {ValueKind::count, "<= 4", 4, 5},
                        {ValueKind::time, "< 2 ms", 1999999, 2e6},
                        {ValueKind::time, "1us..2 us", 1000, 2001},
                        {ValueKind::percent, "100 %", 99.6, 99.4},
                        {ValueKind::percent, ">= 10", 10, 9.9},
                        {ValueKind::bytes, "<= 2 KiB", 2048, 2049}};
  for (const auto& c : cases) {
    const auto operand = parse_operand(c.kind, c.text);
    ASSERT_TRUE(operand) << c.text;
    EXPECT_TRUE(satisfies(c.kind, *operand, c.in, {})) << c.text;
    EXPECT_FALSE(satisfies(c.kind, *operand, c.out, {})) << c.text;
  }
  const auto reference = parse_operand(ValueKind::time, "< naive");
  ASSERT_TRUE(reference);
  EXPECT_TRUE(satisfies(ValueKind::time, *reference, 9, 10));
  EXPECT_FALSE(satisfies(ValueKind::time, *reference, 10, 10));
}

TEST(Shipped, ParsesForEveryVariant) {
  for (const char* variant : {"naive", "naive_inplace", "math", "efficient", "flash", "cudnn"})
    EXPECT_TRUE(parse_guess_words(shipped_guess(variant))) << variant;
  EXPECT_TRUE(shipped_guess("reference").empty());
}

}  // namespace
}  // namespace hunch::guess
