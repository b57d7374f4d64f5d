// Problems as people type them: what is read, what is printed, and what each mistake is told.
#include "hunch/attention/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hunch/tensor/cpu_device.h"

namespace hunch::attention {
namespace {

using base::ErrorCode;
using tensor::DType;
using ::testing::HasSubstr;

TEST(Problem, ParsesFourSizes) {
  const auto problem = parse_problem("8x16x1024x64");
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->batch, 8);
  EXPECT_EQ(problem->heads, 16);
  EXPECT_EQ(problem->kv_heads, 16);
  EXPECT_EQ(problem->length, 1024);
  EXPECT_EQ(problem->kv_length, 1024);
  EXPECT_EQ(problem->head_dim, 64);
  EXPECT_EQ(problem->text(), "8 x 16 x 1024 x 64, bf16, causal");
  EXPECT_TRUE(parse_problem("0x1x1x1").has_value()) << "an empty batch is a problem";
}

TEST(Problem, ReadsItsOwnSizesBack) {
  const auto problem = parse_problem(" 1 X 2 x 3x4 ");
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->text(), "1 x 2 x 3 x 4, bf16, causal");
}

struct Mistake {
  const char* text;
  const char* words;
};

TEST(Problem, SaysWhatIsWrong) {
  for (const auto& [text, words] :
       {Mistake{"", "the problem is empty"},
        {"   ", "the problem is empty"},
        {"8", "problem '8' has 1 size instead of 4"},
        {"8x16x1024", "problem '8x16x1024' has 3 sizes instead of 4"},
        {"8x16x1024x64x2", "has 5 sizes instead of 4"},
        {"8,16,1024,64", "has 1 size instead of 4"},
        {"8x16xlongx64", "'long' is not a whole number (the length of problem"},
        {"8x16x1k24x64", "'1k24' is not a whole number"},
        {"8x16x10.5x64", "'10.5' is not a whole number"},
        {"8x-16x1024x64", "'-16' is not a whole number (the heads of"},
        {"8x16xx64", "the length of problem '8x16xx64' is missing"},
        {"8x16x1024x", "the head_dim of problem '8x16x1024x' is missing"},
        {"8x0x1024x64", "heads is 0 in problem '8x0x1024x64'"},
        {"8x16x1024x0", "head_dim is 0"},
        {"8x16x99999999999999999999x64", "length 99999999999999999999 of problem"},
        {"4294967296x1x1x1", "batch 4294967296 of problem '4294967296x1x1x1' is too large"},
        {"2000000000x2000000000x2000000000x2000000000", "would take"},
        {"1000000x1000000x1000x64", "the query of problem '1000000x1000000x1000x64' would take"}}) {
    const auto problem = parse_problem(text);
    ASSERT_FALSE(problem.has_value()) << text;
    EXPECT_EQ(problem.error().code, ErrorCode::usage) << text;
    EXPECT_THAT(problem.error().message, HasSubstr(words)) << text;
    EXPECT_NE(problem.error().remedy, "") << text;
  }
}

TEST(Problem, TextNamesWhatDiffers) {
  Problem problem = *parse_problem("2x8x16x64");
  problem.kv_heads = 2;
  problem.kv_length = 512;
  problem.dtype = DType::f16;
  problem.mask = MaskKind::boolean;
  problem.scale = -0.5;
  EXPECT_EQ(problem.text(), "2 x 8 x 16 x 64, kv_heads 2, kv_length 512, f16, bool mask, scale -0.5");
  problem.mask = MaskKind::none;
  EXPECT_THAT(problem.text(), HasSubstr("no mask"));
  problem.mask = MaskKind::causal;
  problem.window = 4;
  problem.softcap = 30;
  EXPECT_THAT(problem.text(), HasSubstr("causal, window 4, scale -0.5, softcap 30"));
}

TEST(Problem, MaskNames) {
  for (const auto mask : {MaskKind::none, MaskKind::causal, MaskKind::boolean, MaskKind::floating})
    EXPECT_EQ(parse_mask(name_of(mask)), mask);
  EXPECT_EQ(parse_mask("casual"), std::nullopt);
}

TEST(Problem, Flops) {
  Problem problem = *parse_problem("2x3x8x16");
  problem.mask = MaskKind::none;
  EXPECT_EQ(problem.flops(), 4.0 * 2 * 3 * 8 * 8 * 16);
  problem.mask = MaskKind::causal;
  EXPECT_EQ(problem.flops(), 2.0 * 2 * 3 * 8 * 8 * 16) << "causal and square: half";
  problem.kv_length = 20;
  EXPECT_EQ(problem.flops(), 2.0 * 2 * 3 * 8 * 8 * 16) << "keys beyond the last query are never attended to";
  problem.kv_length = 4;  // half of 4 x 4, and 4 rows that see all four keys
  EXPECT_EQ(problem.flops(), 4.0 * 2 * 3 * (8 + 16) * 16);
  problem.kv_length = 8;
  problem.window = 4;  // half of 8 x 8 less half of 4 x 4
  EXPECT_EQ(problem.flops(), 4.0 * 2 * 3 * (32 - 8) * 16);
  problem.window = 100;
  EXPECT_EQ(problem.flops(), 4.0 * 2 * 3 * 32 * 16) << "a window that hides nothing";
  problem.kv_length = 4;  // 24 pairs, of which rows 6, 7, 8 see only 3, 2 and 1 keys less half a diagonal
  problem.window = 5;
  EXPECT_EQ(problem.flops(), 4.0 * 2 * 3 * (24 - 4.5) * 16);
  Problem huge = *parse_problem("1x1x1000000000x64");
  EXPECT_GT(huge.flops(), 1e20) << "beyond int64";
}

TEST(Problem, ValidateNamesTheField) {
  const Problem good = *parse_problem("2x8x16x64");
  EXPECT_TRUE(validate(good).has_value());
  const auto words = [&](auto change) {
    Problem problem = good;
    change(problem);
    const auto status = validate(problem);
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_EQ(words([](Problem& p) {
              p.mask = MaskKind::none;
              p.window = 4;
            }),
            "a window without a causal mask");
  EXPECT_EQ(words([](Problem& p) { p.window = 0; }), "a window of 0 keys");
  EXPECT_EQ(words([](Problem& p) { p.softcap = -1; }), "softcap -1");
  EXPECT_EQ(words([](Problem& p) { p.kv_heads = 3; }), "8 heads cannot share 3 key and value heads evenly");
  EXPECT_EQ(words([](Problem& p) { p.kv_heads = 16; }), "8 heads cannot share 16 key and value heads evenly");
  EXPECT_EQ(words([](Problem& p) { p.kv_heads = 0; }), "kv_heads is 0");
  EXPECT_EQ(words([](Problem& p) { p.length = -1; }), "length is -1");
  EXPECT_EQ(words([](Problem& p) { p.kv_length = int64_t{1} << 40; }),
            "kv_length 1099511627776 is too large");
  EXPECT_EQ(words([](Problem& p) { p.dtype = DType::boolean; }), "attention cannot be computed in bool");
  EXPECT_THAT(words([](Problem& p) { p.scale = std::nan(""); }), HasSubstr("not finite"));
  EXPECT_EQ(words([](Problem& p) { p.length = p.kv_length = 0; }), "accepted");
  EXPECT_THAT(words([](Problem& p) { p.batch = 0, p.heads = p.kv_heads = p.length = 1 << 30; }),
              HasSubstr("the query would take"));
  EXPECT_THAT(words([](Problem& p) {
                p.heads = p.kv_heads = p.head_dim = 1;
                p.length = p.kv_length = 1 << 28;
                p.mask = MaskKind::floating;
              }),
              HasSubstr("the mask would take"));
}

TEST(MakeCall, FollowsTheProblemAndTheSeed) {
  tensor::CpuDevice device(1);
  Problem problem = *parse_problem("2x4x7x8");
  problem.kv_heads = 2;
  problem.kv_length = 5;
  problem.mask = MaskKind::boolean;
  problem.scale = 0.25;
  const Call call = make_call(device, problem, 11);
  EXPECT_TRUE(validate(call).has_value());
  EXPECT_EQ(call.query.shape().text(), "2x4x7x8");
  EXPECT_EQ(call.key.shape().text(), "2x2x5x8");
  EXPECT_EQ(call.value.dtype(), DType::bf16);
  EXPECT_TRUE(call.enable_gqa);
  EXPECT_FALSE(call.is_causal);
  EXPECT_EQ(call.effective_scale(), 0.25);
  const Call same = make_call(device, problem, 11);
  EXPECT_EQ(call.value.to_floats(), same.value.to_floats());
  EXPECT_EQ(call.mask->to_floats(), same.mask->to_floats());
  EXPECT_NE(call.value.to_floats(), make_call(device, problem, 12).value.to_floats());
  EXPECT_NE(call.key.to_floats(), call.value.to_floats());
}

TEST(MakeCall, MasksKeepThreeInFourAndOneARow) {
  tensor::CpuDevice device(1);
  Problem problem = *parse_problem("1x1x400x8");
  for (const int64_t columns : {1, 2, 200}) {
    problem.kv_length = columns;
    problem.mask = MaskKind::boolean;
    const auto kept = make_call(device, problem, 5).mask->to_floats();
    problem.mask = MaskKind::floating;
    const auto added = make_call(device, problem, 5).mask->to_floats();
    double seen = 0, finite = 0;
    for (std::size_t row = 0; row < 400; ++row) {
      int in_row = 0, finite_in_row = 0;
      for (std::size_t column = 0; column < static_cast<std::size_t>(columns); ++column) {
        const std::size_t at = row * static_cast<std::size_t>(columns) + column;
        in_row += kept[at] != 0.0F;
        finite_in_row += std::isfinite(added[at]);
      }
      EXPECT_GE(in_row, 1);
      EXPECT_GE(finite_in_row, 1);
      seen += in_row;
      finite += finite_in_row;
    }
    if (columns == 200) {
      EXPECT_NEAR(seen / 80000, 0.75, 0.02);
      EXPECT_NEAR(finite / 80000, 0.75, 0.02);
    }
  }
}

}  // namespace
}  // namespace hunch::attention
