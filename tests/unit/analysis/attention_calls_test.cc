// Attention calls and whether they needed gradients: real calls that say in their range what is true, traces
// with and without a backward pass, and what only hand-made traces show.
#include "hunch/analysis/attention_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_made.h"
#include "hunch/analysis/attention_ops.h"
#include "hunch/formats/reader.h"

namespace hunch::analysis {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

trace::Trace read(const std::string& name) {
  auto trace = formats::read_trace(std::string(HUNCH_TEST_DATA "/") + name);
  EXPECT_TRUE(trace) << base::describe(trace.error());
  return std::move(*trace);
}

TEST(AttentionCalls, RealCallsAreWhatTheirRangesSay) {
  const auto trace = read("calls/attention_calls_cpu.json.gz");
  const Analysis analysis = analyze(trace);
  const auto calls = attention_calls(analysis);
  ASSERT_EQ(calls.size(), 11u);
  for (const AttentionCall& call : calls) {
    const EventId range = analysis.timeline.parent[call.op];
    ASSERT_NE(range, kNone);
    EXPECT_THAT(std::string(trace.name_of(range)), StartsWith(std::string(name_of(call.gradients)) + ":"))
        << call.because;
    EXPECT_FALSE(call.direct);
    EXPECT_FALSE(call.backend.empty());
  }
}

TEST(AttentionCalls, TrainingTracesNeedGradientsAndInferenceDoesNot) {
  for (const char* name : {"train_sdpa_flash", "train_sdpa_cudnn", "llama_train"}) {
    const auto trace = read(std::string("traces/") + name + ".json.gz");
    const Analysis analysis = analyze(trace);
    const auto calls = attention_calls(analysis);
    EXPECT_FALSE(calls.empty());
    for (const AttentionCall& call : calls) {
      EXPECT_EQ(call.gradients, Gradients::needed) << name;
      EXPECT_THAT(call.because, HasSubstr("is its backward")) << name;
    }
  }
  for (const char* name :
       {"sdpa_flash", "sdpa_math", "sdpa_gqa", "llama_sdpa_prefill", "contiguous_copies"}) {
    const auto trace = read(std::string("traces/") + name + ".json.gz");
    const Analysis analysis = analyze(trace);
    for (const AttentionCall& call : attention_calls(analysis))
      EXPECT_EQ(call.gradients, Gradients::not_needed) << name;
  }
}

// A call and the op of `backend` in it, with number 5; then an op behind it with number `next`.
std::vector<AttentionCall> calls_of(HandMade& made) {
  const auto trace = made.finish();
  const Analysis analysis = analyze(trace);
  return attention_calls(analysis);
}

constexpr const char* kSdpa = "aten::scaled_dot_product_attention";
constexpr const char* kFlash = "aten::_scaled_dot_product_flash_attention";

TEST(AttentionCalls, AnotherBackwardWithItsNumberIsNotItsOwn) {
  HandMade made;
  made.numbered_op(kSdpa, 0, 10, "1", 5, 0);
  made.numbered_op(kFlash, 1, 9, "1", 5, 0);
  made.numbered_op("aten::mul", 20, 21, "1", 5, 0);
  made.numbered_op("MulBackward0", 30, 31, "2", 5, 1);
  const auto calls = calls_of(made);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].gradients, Gradients::not_needed);
}

TEST(AttentionCalls, WhatRanUnnumberedInBetweenMayHaveMadeNodes) {
  for (const bool between : {false, true}) {
    HandMade made;
    made.numbered_op(kSdpa, 0, 10, "1", 5, 0);
    made.numbered_op(kFlash, 1, 9, "1", 5, 0);
    if (between) made.op("my_extension::forward", 12, 13);
    made.numbered_op("aten::mul", 20, 21, "1", 6, 0);
    const auto calls = calls_of(made);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].gradients, between ? Gradients::not_told : Gradients::needed);
  }
}

TEST(AttentionCalls, CompiledCodeTellsNothing) {
  HandMade made;
  made.op("Torch-Compiled Region: 0/0", 0, 100);
  made.op(kFlash, 10, 20);
  const auto calls = calls_of(made);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].direct);
  EXPECT_EQ(calls[0].backend, "flash");
  EXPECT_EQ(calls[0].gradients, Gradients::not_told);
  EXPECT_THAT(calls[0].because, HasSubstr("compiled"));
}

TEST(AttentionCalls, TheBackendsOpSaysWhetherABackwardWillCome) {
  for (const bool wanted : {false, true}) {
    HandMade made;
    made.op(kSdpa, 0, 10);
    trace::OpDetail detail;
    detail.input_values = made.builder().intern(wanted ? R"(["","","","","True","0.","True",""])"
                                                       : R"(["","","","","False","0.","True",""])");
    trace::Event event;
    event.kind = trace::EventKind::op;
    event.name = "aten::_scaled_dot_product_efficient_attention";
    event.track = made.builder().track("100", "1");
    event.start = 1'000;
    event.duration = 5'000;
    event.source_index = 7;
    event.op = &detail;
    made.builder().add(event);
    const auto calls = calls_of(made);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].gradients, wanted ? Gradients::needed : Gradients::not_needed);
    EXPECT_THAT(calls[0].because, HasSubstr("compute_log_sumexp of event 7"));
  }
}

TEST(AttentionCalls, AFloatMaskMayHaveAGradientOfItsOwn) {
  for (const bool moves : {false, true}) {
    HandMade made;
    made.numbered_op(kSdpa, 0, 10, "1", 5, 0);
    trace::OpDetail detail;
    detail.sequence_number = 5;
    detail.input_values = made.builder().intern(R"(["","","","","False","0.","False",""])");
    detail.input_types =
        made.builder().intern(R"(["c10::Half","c10::Half","c10::Half","c10::Half","Scalar"])");
    trace::Event event;
    event.kind = trace::EventKind::op;
    event.name = "aten::_scaled_dot_product_efficient_attention";
    event.track = made.builder().track("100", "1");
    event.start = 1'000;
    event.duration = 5'000;
    event.op = &detail;
    made.builder().add(event);
    made.numbered_op("aten::mul", 20, 21, "1", moves ? 6 : 5, 0);
    const auto calls = calls_of(made);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls[0].gradients, moves ? Gradients::mask_only : Gradients::not_needed);
  }
}

TEST(AttentionCalls, BackwardOpsAreNoCalls) {
  HandMade made;
  made.op("aten::_scaled_dot_product_flash_attention_backward", 0, 10);
  EXPECT_TRUE(calls_of(made).empty());
}

TEST(KnownBackends, HoldWhatOpsAndKernelsName) {
  const auto known = known_backends();
  for (const char* name : {"flash", "efficient", "cudnn", "math", "naive", "flex", "flashinfer"})
    EXPECT_THAT(known, testing::Contains(name));
}

}  // namespace
}  // namespace hunch::analysis
