// Differences between traces: real ones, whose differences are known, and hand-made ones for alignment and
// for the noise that a claim must exceed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hand_made.h"
#include "hunch/analysis/diff/align.h"
#include "hunch/analysis/diff/diff.h"
#include "hunch/formats/reader.h"

namespace hunch::analysis::diff {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Studied {
  trace::Trace trace;
  Analysis analysis;
  std::vector<rules::Finding> findings;
  explicit Studied(trace::Trace source)
      : trace(std::move(source)), analysis(analyze(trace)), findings(rules::find_all(analysis)) {}
  Side side(const std::string& name) const { return {&analysis, &findings, name}; }
};

std::unique_ptr<Studied> study(const std::string& name) {
  auto trace = formats::read_trace(std::string(HUNCH_TEST_DATA "/traces/") + name + ".json.gz", {});
  EXPECT_TRUE(trace.has_value()) << name;
  return std::make_unique<Studied>(std::move(*trace));
}

Diff compare_real(const std::string& before, const std::string& after, const std::string& range = "") {
  const auto a = study(before), b = study(after);
  auto result = compare(a->side(before), b->side(after), range);
  EXPECT_TRUE(result.has_value()) << base::describe(result.error());
  return std::move(*result);
}

std::vector<Item> told(const ForwardDiff& diff) {
  std::vector<Item> items;
  for (const Item& item : diff.items)
    if (item.told()) items.push_back(item);
  return items;
}

const Total& total(const ForwardDiff& diff, const std::string& name) {
  for (const Total& one : diff.totals)
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return diff.totals.front();
}

bool has_rule(const std::vector<rules::Finding>& findings, const std::string& rule) {
  for (const auto& finding : findings)
    if (finding.rule == rule) return true;
  return false;
}

void expect_adds_up(const ForwardDiff& diff) {
  Ns sum = 0;
  for (const Item& item : diff.items) sum += item.difference();
  const Total& device = total(diff, "device_ns");
  EXPECT_EQ(sum, device.after.median - device.before.median);
  EXPECT_EQ(sum, diff.account.sum());
}

TEST(Diff, InPlaceDropsTheCopyAndNothingElse) {
  const Diff diff = compare_real("naive", "naive_inplace");
  ASSERT_EQ(diff.forwards.size(), 1U);
  const ForwardDiff& forward = diff.forwards[0];
  expect_adds_up(forward);
  const auto items = told(forward);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].kind, ItemKind::vanished);
  EXPECT_EQ(items[0].work, "memcpy");
  EXPECT_EQ(items[0].op, "aten::masked_fill");
  EXPECT_NEAR(static_cast<double>(items[0].before.value), 127'000, 1'000);
  ASSERT_EQ(items[0].reasons.size(), 1U);
  EXPECT_EQ(items[0].reasons[0].rule, "hidden_copy");
  // The fill itself is the same step, in place now, and takes the same time.
  EXPECT_EQ(items[1].kind, ItemKind::paired);
  EXPECT_FALSE(items[1].time.differs());
  ASSERT_FALSE(items[1].changes.empty());
  EXPECT_EQ(items[1].changes[0].before, "masked_fill");
  EXPECT_EQ(items[1].changes[0].after, "masked_fill_");
  for (const Item& item : forward.items) EXPECT_FALSE(item.time.differs()) << item.before_name;
  EXPECT_EQ(total(forward, "memcpy").verdict.judgement, Judgement::less);
  EXPECT_EQ(total(forward, "kernels").verdict.judgement, Judgement::same);
  EXPECT_EQ(total(forward, "device_ns").verdict.judgement, Judgement::less);
  EXPECT_TRUE(has_rule(forward.findings_vanished, "hidden_copy"));
  EXPECT_THAT(forward.findings_appeared, IsEmpty());
  EXPECT_FALSE(forward.backend_changed());
}

TEST(Diff, FusedAttentionTakesThePlaceOfFiveKernels) {
  const Diff diff = compare_real("naive", "sdpa_flash");
  ASSERT_EQ(diff.forwards.size(), 1U);  // one forward each: paired whatever their names
  const ForwardDiff& forward = diff.forwards[0];
  expect_adds_up(forward);
  EXPECT_EQ(forward.before_backend, "naive");
  EXPECT_EQ(forward.after_backend, "flash");
  int64_t vanished = 0, appeared = 0;
  for (const Item& item : forward.items) {
    EXPECT_NE(item.kind, ItemKind::paired);
    (item.kind == ItemKind::vanished ? vanished : appeared) += item.calls;
    EXPECT_FALSE(item.reasons.empty()) << item.before_name << item.after_name;
  }
  EXPECT_EQ(vanished, 7);  // 5 kernels, 1 copy, 1 memset
  EXPECT_EQ(appeared, 1);
  EXPECT_TRUE(has_rule(forward.findings_vanished, "unfused_attention"));
  EXPECT_EQ(total(forward, "kernels").before.median, 5);
  EXPECT_EQ(total(forward, "kernels").after.median, 1);
}

TEST(Diff, OtherBackendIsTheSameStep) {
  const Diff diff = compare_real("sdpa_flash", "sdpa_cudnn");
  const ForwardDiff& forward = diff.forwards.at(0);
  expect_adds_up(forward);
  EXPECT_TRUE(forward.backend_changed());
  for (const Item& item : forward.items) {
    if (item.family != "attention_forward") continue;
    EXPECT_EQ(item.kind, ItemKind::paired);
    EXPECT_EQ(item.time.judgement, Judgement::less);
    bool backend = false;
    for (const auto& change : item.changes)
      backend = backend || (change.fact == "backend" && change.before == "flash" && change.after == "cudnn");
    EXPECT_TRUE(backend);
  }
}

TEST(Diff, EightAttentionsAreFused) {
  const Diff diff = compare_real("llama_eager_prefill", "llama_sdpa_prefill");
  const ForwardDiff& forward = diff.forwards.at(0);
  expect_adds_up(forward);
  int64_t fused = 0, softmax = 0;
  for (const Item& item : forward.items) {
    if (item.kind == ItemKind::appeared && item.family == "attention_forward") fused += item.calls;
    if (item.kind == ItemKind::vanished && item.family == "softmax") softmax += item.calls;
  }
  EXPECT_EQ(fused, 8);
  EXPECT_EQ(softmax, 8);
  EXPECT_TRUE(has_rule(forward.findings_vanished, "unfused_attention"));
  EXPECT_EQ(total(forward, "memcpy").verdict.judgement, Judgement::less);
  EXPECT_EQ(total(forward, "kernels").before.median - total(forward, "kernels").after.median, 422 - 333);
}

TEST(Diff, CitesAFindingOnlyForWorkThatItIsAbout) {
  const Diff diff = compare_real("sdpa_math", "sdpa_flash");
  // Two kernels of one name: the safe softmax's, and the mask's.
  std::vector<std::string> rules;
  for (const Item& item : diff.forwards.at(0).items) {
    if (item.kind != ItemKind::vanished || item.family != "where") continue;
    EXPECT_EQ(item.calls, 1);
    ASSERT_FALSE(item.reasons.empty());
    rules.push_back(item.reasons[0].rule);
  }
  EXPECT_THAT(rules, testing::UnorderedElementsAre("safe_softmax", "mask_rebuilt"));
}

TEST(Diff, ATraceDoesNotDifferFromItself) {
  for (const char* name : {"naive", "naive_inplace", "sdpa_math", "sdpa_cudnn", "contiguous_copies",
                           "launch_bound", "llama_sdpa_prefill", "llama_train", "train_sdpa_flash"}) {
    for (const ForwardDiff& forward : compare_real(name, name).forwards) {
      EXPECT_TRUE(forward.unchanged()) << name << " " << forward.before_range;
      for (const Item& item : forward.items) EXPECT_EQ(item.time.judgement, Judgement::same);
    }
  }
}

TEST(Diff, TwoRecordingsOfTheSameThingDoNotDiffer) {
  // The default took cuDNN: the same kernel, recorded twice.
  const Diff diff = compare_real("sdpa_default", "sdpa_cudnn");
  EXPECT_THAT(told(diff.forwards.at(0)), IsEmpty());
  EXPECT_FALSE(diff.forwards[0].backend_changed());
}

// Runs of a range "step", each with one kernel of these microseconds under aten::mm.
std::unique_ptr<Studied> made(const std::vector<double>& times, const std::string& range = "step") {
  HandMade trace;
  double at = 0;
  uint64_t id = 1;
  for (const double time : times) {
    trace.range(range, at, at + 5000);
    trace.op("aten::mm", at + 1, at + 50);
    if (time > 0) {
      trace.call(id, at + 2, at + 7);
      trace.kernel(id++, at + 100, at + 100 + time);
    }
    at += 10000;
  }
  return std::make_unique<Studied>(trace.finish());
}

Verdict verdict_of(const std::vector<double>& before, const std::vector<double>& after) {
  const auto a = made(before), b = made(after);
  const auto diff = compare(a->side("a"), b->side("b"), "");
  return diff->forwards.at(0).items.at(0).time;
}

TEST(DiffNoise, ClaimsOnlyWhatTheRunsTellApart) {
  EXPECT_EQ(verdict_of({100, 101, 102}, {120, 121, 122}).judgement, Judgement::more);
  EXPECT_EQ(verdict_of({120, 121, 122}, {100, 101, 102}).judgement, Judgement::less);
  // They overlap.
  EXPECT_EQ(verdict_of({100, 110, 130}, {120, 125, 140}).judgement, Judgement::within_noise);
  // They do not, but scatter more than they differ.
  EXPECT_EQ(verdict_of({90, 100, 110}, {111, 120, 130}).judgement, Judgement::within_noise);
  // Steady, but two recordings differ by as much.
  EXPECT_EQ(verdict_of({100, 100, 100}, {104, 104, 104}).judgement, Judgement::within_noise);
  EXPECT_EQ(verdict_of({100, 100, 100, 100, 100}, {104, 104, 104, 104, 104}).judgement, Judgement::more);
  // A short kernel: a few steps of the clock.
  EXPECT_EQ(verdict_of({1, 1, 1}, {1.09, 1.09, 1.09}).judgement, Judgement::within_noise);
  EXPECT_EQ(verdict_of({100, 101, 102}, {100, 101, 102}).judgement, Judgement::same);
}

TEST(DiffNoise, OneRunTellsOnlyWhatIsLarge) {
  EXPECT_EQ(verdict_of({100}, {115}).judgement, Judgement::within_noise);
  EXPECT_TRUE(verdict_of({100}, {115}).one_run);
  EXPECT_EQ(verdict_of({100}, {200}).judgement, Judgement::more);
  EXPECT_TRUE(verdict_of({100}, {200}).one_run);
  // Large, and the other side's runs scatter as much.
  EXPECT_EQ(verdict_of({100, 150, 180}, {260}).judgement, Judgement::within_noise);
  EXPECT_FALSE(verdict_of({100, 100}, {200, 200}).one_run);
}

TEST(DiffPairing, RefusesWhatRecordedNothing) {
  const auto with = made({10, 10}), without = made({0, 0}), other = made({10}, "other");
  EXPECT_THAT(compare(with->side("a"), without->side("b"), "").error().message, HasSubstr("no device work"));
  EXPECT_EQ(compare(without->side("a"), with->side("b"), "").error().file, "a");
  EXPECT_THAT(compare(with->side("a"), other->side("b"), "stop").error().remedy, HasSubstr("step"));
  EXPECT_TRUE(compare(with->side("a"), other->side("b"), "step=other").has_value());
  EXPECT_TRUE(compare(with->side("a"), other->side("b"), "").has_value());
}

Symbol symbol(uint32_t op, uint32_t name = 1) {
  return {100'000 * op + name, op, static_cast<uint32_t>(Family::matmul), op, name, 0};
}

TEST(DiffAlign, PairsInOrderAndLeavesTheRest) {
  std::vector<Symbol> a, b;
  for (const uint32_t op : {1U, 2U, 3U, 4U}) a.push_back(symbol(op));
  for (const uint32_t op : {1U, 3U, 5U, 4U}) b.push_back(symbol(op));
  EXPECT_THAT(align(a, b), ElementsAre(Pair(0, 0), Pair(2, 1), Pair(3, 3)));
  EXPECT_THAT(align(a, {}), IsEmpty());
  // The same step with another kernel is the same step.
  b[1] = symbol(3, 2);
  EXPECT_THAT(align(a, b), ElementsAre(Pair(0, 0), Pair(2, 1), Pair(3, 3)));
}

TEST(DiffAlign, LongSequencesStayAligned) {
  // 12,000 steps, a third of the layers without their second step: too long for one table.
  std::vector<Symbol> a, b;
  std::vector<Pair> expected;
  for (uint32_t layer = 0; layer < 4000; ++layer) {
    for (const uint32_t op : {1U, 2U, 3U}) {
      a.push_back(symbol(op, op == 3 ? layer : 1));
      if (op == 2 && layer % 3 == 0) continue;
      expected.emplace_back(a.size() - 1, b.size());
      b.push_back(symbol(op, op == 3 ? layer : 1));
    }
  }
  EXPECT_EQ(align(a, b), expected);
}

}  // namespace
}  // namespace hunch::analysis::diff
