// Each rule against every real trace at hand: which fire, which stay silent, and what the main ones say.
// The expectations come from the traces' ops and kernels, read by eye, and from sums over their JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "hunch/analysis/analysis.h"
#include "hunch/analysis/rules/rule.h"
#include "hunch/formats/reader.h"

namespace hunch::analysis::rules {
namespace {

using testing::HasSubstr;

struct Read {
  trace::Trace trace;
  std::vector<Finding> findings;
};

Read read(const std::string& name) {
  auto trace = formats::read_trace(std::string(HUNCH_TEST_DATA "/traces/") + name + ".json.gz");
  if (!trace) {
    ADD_FAILURE() << base::describe(trace.error());
    return {};
  }
  Read result{std::move(*trace), {}};
  result.findings = find_all(analyze(result.trace));
  return result;
}

// "range: rule rule(2) ...": rules by name, with their number where there are several.
std::map<std::string, std::string> summary(const std::vector<Finding>& findings) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const Finding& finding : findings) ++counts[finding.range][finding.rule];
  std::map<std::string, std::string> texts;
  for (const auto& [range, rules] : counts) {
    for (const auto& [rule, count] : rules) {
      auto& text = texts[range];
      text += (text.empty() ? "" : " ") + rule + (count > 1 ? "(" + std::to_string(count) + ")" : "");
    }
  }
  return texts;
}

struct Expected {
  const char* trace;
  std::map<std::string, std::string> findings;
};

const Expected kExpected[] = {
    {"naive",
     {{"attn_fwd", "hidden_copy occupancy_misreported unfused_attention window_leak workspace_memset"}}},
    {"naive_inplace", {{"attn_fwd", "occupancy_misreported unfused_attention window_leak workspace_memset"}}},
    {"sdpa_math",
     {{"sdpa_fwd",
       "attention_backend fp32_upcast(2) mask_rebuilt occupancy_by_design(2) safe_softmax tensor_cores_idle "
       "unfused_attention window_leak"}}},
    {"sdpa_efficient", {{"sdpa_fwd", "attention_backend occupancy_by_design"}}},
    {"sdpa_flash", {{"sdpa_fwd", "attention_backend occupancy_by_design"}}},
    {"sdpa_cudnn", {{"sdpa_fwd", "attention_backend occupancy_misreported workspace_memset"}}},
    {"sdpa_default", {{"sdpa_fwd", "attention_backend occupancy_misreported workspace_memset"}}},
    {"sdpa_floatmask", {{"sdpa_fwd", "attention_backend occupancy_misreported workspace_memset"}}},
    {"sdpa_fp32", {{"sdpa_fwd", "attention_backend occupancy_by_design"}}},
    {"sdpa_gqa", {{"sdpa_fwd", "attention_backend occupancy_misreported workspace_memset"}}},
    {"sdpa_gqa_math",
     {{"sdpa_fwd",
       "attention_backend fp32_upcast(2) layout_copy mask_rebuilt occupancy_by_design(2) safe_softmax "
       "tensor_cores_idle unfused_attention "
       "window_leak"}}},
    {"contiguous_copies",
     {{"attn_fwd", "attention_backend layout_copy occupancy_misreported workspace_memset"}}},
    {"launch_bound", {{"attn_fwd", "launch_bound occupancy_misreported unfused_attention"}}},
    {"llama_eager_prefill",
     {{"forward",
       "host_sync(2) launch_bound layout_copy(2) occupancy_misreported unfused_attention window_leak "
       "workspace_memset"}}},
    {"llama_sdpa_prefill",
     {{"forward", "attention_backend host_sync launch_bound occupancy_misreported workspace_memset"}}},
    {"llama_train",
     {{"train_step",
       "attention_backend(2) launch_bound layout_copy occupancy_misreported workspace_memset"}}},
    {"train_sdpa_flash",
     {{"fwd", "attention_backend occupancy_by_design"},
      {"bwd", "attention_backend layout_copy occupancy_misreported"}}},
    {"train_sdpa_cudnn",
     {{"fwd", "attention_backend occupancy_misreported workspace_memset"},
      {"bwd", "attention_backend occupancy_misreported workspace_memset"}}},
};

TEST(RulesOnTraces, ExactlyTheExpectedOnesFire) {
  for (const Expected& expected : kExpected) {
    EXPECT_EQ(summary(read(expected.trace).findings), expected.findings) << expected.trace;
  }
}

TEST(RulesOnTraces, EveryFindingIsComplete) {
  for (const Expected& expected : kExpected) {
    const Read result = read(expected.trace);
    for (const Finding& finding : result.findings) {
      EXPECT_FALSE(finding.claim.empty()) << finding.rule;
      EXPECT_FALSE(finding.cause.empty()) << finding.rule;
      EXPECT_FALSE(finding.advice.empty()) << finding.rule;
      EXPECT_FALSE(finding.events.empty()) << finding.rule;
      for (const EventId event : finding.events) EXPECT_LT(event, result.trace.size());
      EXPECT_GE(finding.cost_ns.value_or(0), 0) << finding.rule;
    }
  }
}

Finding only(const Read& result, const std::string& rule, const std::string& part = "") {
  const Finding* found = nullptr;
  for (const Finding& finding : result.findings) {
    if (finding.rule != rule || finding.claim.find(part) == std::string::npos) continue;
    EXPECT_EQ(found, nullptr) << rule << " twice";
    found = &finding;
  }
  EXPECT_NE(found, nullptr) << rule;
  return found == nullptr ? Finding{} : *found;
}

TEST(RulesOnTraces, NaiveCopiesBecauseMaskedFillClones) {
  const Finding copy = only(read("naive"), "hidden_copy");
  EXPECT_EQ(copy.claim, "1 copy per forward, 127 us (12 % of the forward)");
  EXPECT_EQ(copy.cost_ns, 126'878);  // of 126,847, 126,878 and 128,862
  EXPECT_EQ(copy.cost_bytes, 268'435'456);
  EXPECT_THAT(copy.cause, HasSubstr("`aten::masked_fill > aten::clone > aten::copy_`"));
  EXPECT_THAT(copy.advice, HasSubstr("`masked_fill_` drops it; safe here even with a backward pass, since "
                                     "the op before it (mul by a constant)"));
}

TEST(RulesOnTraces, MathUpcastsAndMultipliesOnCudaCores) {
  const Read math = read("sdpa_math");
  EXPECT_EQ(only(math, "fp32_upcast", "casts to f32").cost_ns, 77'632);
  EXPECT_EQ(only(math, "fp32_upcast", "nobody reads").cost_ns, 186'014);
  const Finding idle = only(math, "tensor_cores_idle");
  EXPECT_THAT(idle.claim, HasSubstr("2 products per forward on CUDA cores, 958 us (37 % of the forward)"));
  EXPECT_THAT(idle.cause, HasSubstr("the inputs are bf16"));
  EXPECT_THAT(only(math, "safe_softmax").claim,
              HasSubstr("4 kernels per forward besides the softmax itself, 662 us (25 % of the forward)"));
  EXPECT_THAT(only(math, "mask_rebuilt").claim, HasSubstr("5 kernels per forward to make the mask"));
}

TEST(RulesOnTraces, OccupancyIsRecomputed) {
  EXPECT_THAT(only(read("sdpa_cudnn"), "occupancy_misreported").claim,
              HasSubstr("18.75 % for cuDNN flash forward sm90 64x128x64"));
  EXPECT_THAT(only(read("sdpa_flash"), "occupancy_by_design").claim,
              HasSubstr("12.5 % occupancy (13 % reported)"));
  const Finding tiny = only(read("launch_bound"), "occupancy_misreported");
  EXPECT_THAT(tiny.claim, HasSubstr("1.1 % with its grid"));
  EXPECT_THAT(tiny.cause, HasSubstr("3 other kernels per forward report 0 % rightly"));
}

TEST(RulesOnTraces, LayoutCopies) {
  const Finding copies = only(read("contiguous_copies"), "layout_copy");
  EXPECT_EQ(copies.claim, "4 layout copies per forward, 93.8 us (62 % of the forward)");
  EXPECT_EQ(copies.cost_bytes, 4 * 8 * 16 * 1024 * 64 * 2);
  const Finding repeated = only(read("llama_eager_prefill"), "layout_copy", "16 layout copies");
  EXPECT_THAT(repeated.cause, HasSubstr("repeat_kv"));
}

TEST(RulesOnTraces, LlamaAttendsByHandInEightLayers) {
  const Finding unfused = only(read("llama_eager_prefill"), "unfused_attention");
  EXPECT_THAT(unfused.claim, HasSubstr("8 attentions per forward"));
  EXPECT_EQ(unfused.cost_bytes, int64_t{8} * 4 * 16 * 1024 * 1024 * 2);
}

TEST(RulesOnTraces, PythonFramesAreNamedWhereTheTraceHasThem) {
  const Finding sync = only(read("llama_sdpa_prefill"), "host_sync");
  EXPECT_THAT(
      sync.cause,
      HasSubstr("from transformers/masking_utils.py(729): find_packed_sequence_indices in LlamaModel_0"));
}

TEST(RulesOnTraces, TheFirstEventsOfNaiveBelongToNoForward) {
  const Finding leak = only(read("naive"), "window_leak");
  EXPECT_THAT(leak.claim, HasSubstr("2 device events"));
  EXPECT_EQ(leak.events.size(), 2u);
}

}  // namespace
}  // namespace hunch::analysis::rules
