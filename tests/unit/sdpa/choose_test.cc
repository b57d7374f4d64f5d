// What the table says of single constraints: each with a problem that it takes and one beside it that it does
// not, and the versions between which it changed.
#include "hunch/sdpa/choose.h"

#include <gtest/gtest.h>

namespace hunch::sdpa {
namespace {

Problem usual() {
  Problem p;
  p.batch = 2, p.heads = p.kv_heads = 8, p.length = p.kv_length = 128, p.head_dim = p.value_dim = 64;
  return p;
}

Setup at(const char* torch, int sm, int cudnn) {
  sdpa::Setup setup;
  EXPECT_TRUE(set_torch(setup, torch)) << torch;
  setup.sm = sm;
  setup.cudnn = cudnn;
  return setup;
}

std::optional<bool> usable(const Problem& p, const Setup& setup, Backend backend) {
  for (const Opinion& opinion : choose(p, setup).opinions)
    if (opinion.backend == backend) return opinion.usable;
  return std::nullopt;
}

TEST(Choose, TheOrderDependsOnVersionArchitectureAndCudnn) {
  EXPECT_EQ(choose(usual(), at("2.11", 90, 91900)).takes, Backend::cudnn);
  EXPECT_EQ(choose(usual(), at("2.11", 100, 91900)).takes, Backend::cudnn);
  EXPECT_EQ(choose(usual(), at("2.11", 90, 91500)).takes, Backend::flash);
  EXPECT_EQ(choose(usual(), at("2.11", 80, 91900)).takes, Backend::flash);
  EXPECT_EQ(choose(usual(), at("2.9", 90, 91900)).takes, Backend::flash);
  EXPECT_EQ(choose(usual(), at("2.5.1", 90, 90100)).takes, Backend::flash);
  sdpa::Setup setup = at("2.11", 90, 91900);
  setup.environment["TORCH_CUDNN_SDPA_DEPRIORITIZED"] = "1";
  EXPECT_EQ(choose(usual(), setup).takes, Backend::flash);
}

TEST(Choose, WhatIsNotEstablishedIsNotTold) {
  const Choice choice = choose(usual(), at("2.5.0", 90, 90100));
  EXPECT_FALSE(choice.takes);
  EXPECT_FALSE(choice.settled);
  sdpa::Setup no_cudnn = at("2.11", 80, 0);
  no_cudnn.cudnn.reset();
  EXPECT_FALSE(usable(usual(), no_cudnn, Backend::cudnn).has_value());
  EXPECT_EQ(choose(usual(), no_cudnn).takes, Backend::flash);  // it does not depend on it
}

TEST(Choose, AMaskKeepsFlashAway) {
  Problem p = usual();
  p.mask = MaskKind::boolean;
  const Choice choice = choose(p, at("2.11", 80, 91900));
  EXPECT_EQ(choice.takes, Backend::efficient);
  EXPECT_EQ(choice.opinions.front().backend, Backend::flash);
  ASSERT_EQ(choice.opinions.front().reasons.size(), 1U);
  EXPECT_NE(choice.opinions.front().reasons[0].text.find("there is a bool mask"), std::string::npos);
  EXPECT_FALSE(choice.opinions.front().reasons[0].change.empty());
}

TEST(Choose, EveryReasonIsTold) {
  Problem p = usual();
  p.mask = MaskKind::floating;
  p.dtype = DType::f32;
  p.head_dim = p.value_dim = 512;
  for (const Opinion& opinion : choose(p, at("2.11", 90, 91900)).opinions)
    if (opinion.backend == Backend::flash) {
      EXPECT_EQ(opinion.reasons.size(), 3U);
    }
}

TEST(Choose, HeadDimByBackend) {
  Problem p = usual();
  const sdpa::Setup setup = at("2.11", 90, 91900);
  for (const int64_t dim : {256, 257, 60, 512}) {
    p.head_dim = p.value_dim = dim;
    EXPECT_EQ(usable(p, setup, Backend::flash), dim <= 256) << dim;
    EXPECT_EQ(usable(p, setup, Backend::efficient), dim % 8 == 0) << dim;
    EXPECT_EQ(usable(p, setup, Backend::cudnn), dim % 8 == 0 && dim <= 256) << dim;
  }
  p.head_dim = p.value_dim = 192;
  EXPECT_EQ(usable(p, at("2.11", 80, 91900), Backend::cudnn), false);
  EXPECT_EQ(usable(p, at("2.6", 90, 90100), Backend::cudnn), false);
}

TEST(Choose, GroupedHeadsSince) {
  Problem p = usual();
  p.kv_heads = 2;
  EXPECT_EQ(choose(p, at("2.11", 80, 91900)).takes, Backend::flash);
  EXPECT_EQ(usable(p, at("2.4", 80, 90100), Backend::flash), false);
  EXPECT_EQ(usable(p, at("2.11", 80, 91900), Backend::efficient), false);
  p.gqa = false;
  EXPECT_EQ(choose(p, at("2.11", 80, 91900)).takes, Backend::math);
}

TEST(Choose, GradientsOnConsumerGpus) {
  Problem p = usual();
  p.head_dim = p.value_dim = 224;
  EXPECT_EQ(usable(p, at("2.11", 86, 91900), Backend::flash), true);
  p.grad = true;
  EXPECT_EQ(usable(p, at("2.11", 86, 91900), Backend::flash), false);
  EXPECT_EQ(usable(p, at("2.11", 80, 91900), Backend::flash), true);
}

TEST(Choose, DeterminismLeavesCudnnOut) {
  sdpa::Setup setup = at("2.11", 90, 91900);
  setup.deterministic = true;
  EXPECT_EQ(choose(usual(), setup).takes, Backend::flash);
}

TEST(Choose, NothingLeftIsSaid) {
  sdpa::Setup setup = at("2.11", 90, 91900);
  setup.enabled = {Backend::flash};
  Problem p = usual();
  p.mask = MaskKind::boolean;
  const Choice choice = choose(p, setup);
  EXPECT_TRUE(choice.settled);
  EXPECT_FALSE(choice.takes);
  ASSERT_FALSE(choice.notes.empty());
}

TEST(Choose, TheCpuHasTwo) {
  sdpa::Setup setup = at("2.11", 0, 91900);
  EXPECT_EQ(choose(usual(), setup).takes, Backend::flash);
  EXPECT_EQ(choose(usual(), setup).opinions.size(), 2U);
  Problem p = usual();
  p.dropout = 0.5;
  EXPECT_EQ(choose(p, setup).takes, Backend::math);
}

TEST(Setup, WordsAndTypos) {
  EXPECT_EQ(*parse_arch("sm_90"), 90);
  EXPECT_EQ(*parse_arch("9.0"), 90);
  EXPECT_EQ(*parse_arch("sm90a"), 90);
  EXPECT_EQ(*parse_arch("cpu"), 0);
  const auto typo = parse_arch("sm_98");
  ASSERT_FALSE(typo);
  EXPECT_NE(typo.error().remedy.find("did you mean"), std::string::npos) << typo.error().remedy;
  EXPECT_EQ(*parse_cudnn("9.19"), 91900);
  EXPECT_EQ(*parse_cudnn("91900"), 91900);
  EXPECT_EQ(*parse_cudnn("8.9.6"), 80906);
  sdpa::Setup setup;
  EXPECT_FALSE(set_torch(setup, "2.3"));
  EXPECT_FALSE(set_torch(setup, "new"));
  ASSERT_TRUE(set_torch(setup, "2.99"));
  EXPECT_TRUE(setup.torch_unknown);
  ASSERT_TRUE(set_torch(setup, "2.11.0+cu130"));
  EXPECT_EQ(setup.torch, 21100);
  EXPECT_FALSE(parse_backends("flash,mat"));
}

TEST(Problem, Layouts) {
  EXPECT_EQ(strides_of({2, 8, 128, 64}, "bhsd"), (Strides{65536, 8192, 64, 1}));
  EXPECT_EQ(strides_of({2, 8, 128, 64}, "bshd"), (Strides{65536, 64, 512, 1}));
  EXPECT_EQ(strides_of({2, 8, 128, 64}, "bhds"), (Strides{65536, 8192, 1, 128}));
  EXPECT_FALSE(strides_of({2, 8, 128, 64}, "bhss"));
  Problem p = usual();
  p.mask = MaskKind::boolean;
  p.mask_shape = {3, 128};
  EXPECT_FALSE(validate(p));
}

}  // namespace
}  // namespace hunch::sdpa
