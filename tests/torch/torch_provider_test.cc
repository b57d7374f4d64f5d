// PyTorch on the CPU device: what its variants run, read from the recordings; their results over random
// problems; what they refuse, in PyTorch's words; and what is said where there is no PyTorch.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "hunch/attention/dispatch.h"
#include "hunch/attention/providers.h"
#include "hunch/attention/torch/torch.h"
#include "hunch/base/strings.h"
#include "hunch/lab/lab.h"
#include "hunch/tensor/cpu_device.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/judge.h"

namespace hunch {
namespace {

using attention::Backend;
using attention::Call;
using attention::MaskKind;
using tensor::CpuDevice;
using tensor::DType;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::EventKind;

constexpr const char* kVariable = "HUNCH_TORCH_PLUGIN";

class Torch : public testing::Test {
 protected:
  void SetUp() override {
#ifdef HUNCH_TEST_PLUGIN
    ::setenv(kVariable, HUNCH_TEST_PLUGIN, 1);
    const auto opened = attention::torch::open();
    ASSERT_TRUE(opened.has_value()) << describe(opened.error());
    EXPECT_THAT(*opened, HasSubstr("PyTorch 2."));
#else
    GTEST_SKIP() << "this build has no PyTorch plug-in";
#endif
  }

  static lab::Options options(std::vector<std::string> variants, MaskKind mask = MaskKind::causal,
                              DType dtype = DType::bf16) {
    lab::Options options;
    options.problem.batch = 2;
    options.problem.heads = options.problem.kv_heads = 3;
    options.problem.length = options.problem.kv_length = 40;
    options.problem.head_dim = 16;
    options.problem.dtype = dtype;
    options.problem.mask = mask;
    for (std::string& variant : variants) options.variants.push_back("torch." + variant);
    options.schedule = {1, 1, 2};
    return options;
  }

  std::map<std::string, lab::Recording> run(const lab::Options& asked) {
    auto recordings = lab::run(device_, asked, {});
    if (!recordings) {
      ADD_FAILURE() << describe(recordings.error());
      return {};
    }
    std::map<std::string, lab::Recording> by_name;
    for (auto& recording : *recordings) by_name[recording.backend] = std::move(recording);
    return by_name;
  }

  CpuDevice device_{2};
};

struct Counts {
  int kernels = 0, copies = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.kernels << " kernels, " << counts.copies << " copies";
}

// Per forward; each must be the same.
Counts counts_of(const lab::Recording& recording) {
  if (!recording.trace) {
    ADD_FAILURE() << recording.variant << " did not run: " << base::join(recording.refusals, "; ");
    return {};
  }
  const trace::Trace& trace = *recording.trace;
  EXPECT_THAT(trace.stats.warnings, IsEmpty()) << recording.variant;
  EXPECT_TRUE(recording.error_ok) << recording.variant << ": " << recording.max_abs_error << " is over "
                                  << recording.error_bound;
  Counts counts;
  int forwards = 0;
  for (trace::EventId i = 0; i < trace.size(); ++i) {
    forwards += trace.kind[i] == EventKind::annotation && trace.name_of(i) == "attn_fwd";
    counts.kernels += trace.kind[i] == EventKind::kernel;
    counts.copies += trace.kind[i] == EventKind::memcpy;
  }
  EXPECT_EQ(forwards, 2);
  EXPECT_EQ(counts.kernels % 2, 0);
  return {counts.kernels / 2, counts.copies / 2};
}

// As of PyTorch 2.11; tests/torch/profiler_agrees.py holds them against PyTorch's own profiler.
TEST_F(Torch, CountsOfTheVariants) {
  const auto recordings = run(options({"naive", "naive_inplace", "math", "flash"}));
  ASSERT_EQ(recordings.size(), 4U);
  EXPECT_EQ(counts_of(recordings.at("naive")), (Counts{5, 1}));
  EXPECT_EQ(counts_of(recordings.at("naive_inplace")), (Counts{5, 0}));
  EXPECT_EQ(counts_of(recordings.at("flash")), (Counts{1, 0}));
  EXPECT_EQ(counts_of(recordings.at("math")), (Counts{20, 0}));
}

TEST_F(Torch, OpsHaveTheirOwnNamesAndInputs) {
  const auto recordings = run(options({"naive"}));
  const trace::Trace& trace = *recordings.at("naive").trace;
  std::map<std::string, int> ops;
  int work = 0;
  for (trace::EventId i = 0; i < trace.size(); ++i) {
    if (trace.kind[i] == EventKind::op) {
      ++ops[std::string(trace.name_of(i))];
      EXPECT_EQ(trace.name_of(i).substr(0, 6), "aten::");
      if (trace.name_of(i) == "aten::softmax") {
        const auto* detail = trace.op_detail(i);
        ASSERT_NE(detail, nullptr);
        EXPECT_EQ(trace.strings.view(detail->input_dims), "[[2,3,40,40],[],[]]");
        EXPECT_EQ(trace.strings.view(detail->input_types), "[\"c10::BFloat16\",\"Scalar\",\"\"]");
      }
    }
    // Work lies within its launch, and that within an op, on time's account too.
    if (!trace::is_device_work(trace.kind[i])) continue;
    ++work;
    for (trace::EventId call = 0; call < trace.size(); ++call)
      if (trace.kind[call] == EventKind::runtime_call && trace.correlation[call] == trace.correlation[i]) {
        EXPECT_EQ(trace.start[call], trace.start[i]);
        EXPECT_EQ(trace.end(call), trace.end(i));
        EXPECT_EQ(trace.name_of(call), "atenCpuKernel");
      }
    if (trace.kind[i] == EventKind::memcpy) {
      EXPECT_EQ(trace.device_detail(i)->bytes, 2 * 3 * 40 * 40 * 2);
    }
  }
  EXPECT_EQ(work, 12);
  EXPECT_EQ(ops.at("aten::matmul"), 4);
  EXPECT_EQ(ops.at("aten::masked_fill"), 2);
  EXPECT_EQ(ops.count("hunch::matmul"), 0U);
  EXPECT_EQ(trace.metadata.at("hunch_variant"), "torch.naive");
  EXPECT_THAT(trace.metadata.at("hunch_provider"), HasSubstr("PyTorch 2."));
  // Memory: what a forward takes it gives back, and the peak has two score matrices and more.
  int64_t balance = 0, peak = 0;
  for (const auto& change : trace.memory) {
    balance += change.delta_bytes;
    peak = std::max(peak, balance);
  }
  EXPECT_EQ(balance, 0);
  EXPECT_GE(peak, 2 * 2 * 3 * 40 * 40 * 2);
}

TEST_F(Torch, TheFirstCallIsRecordedApart) {
  const auto recordings = run(options({"naive"}));
  const trace::Trace& first = *recordings.at("naive").first_call;
  int prepares = 0, forwards = 0;
  for (trace::EventId i = 0; i < first.size(); ++i) {
    prepares += first.kind[i] == EventKind::annotation && first.name_of(i) == "attn_prepare";
    forwards += first.kind[i] == EventKind::annotation && first.name_of(i) == "attn_fwd";
  }
  EXPECT_EQ(prepares, 1);
  EXPECT_EQ(forwards, 1);
}

TEST_F(Torch, WhatPyTorchRefusesItSays) {
  const auto recordings = run(options({"efficient", "cudnn"}));
  for (const auto& [name, recording] : recordings) {
    EXPECT_FALSE(recording.trace.has_value()) << name;
    ASSERT_EQ(recording.refusals.size(), 1U) << name;
    EXPECT_THAT(recording.refusals.front(), HasSubstr("PyTorch says: ")) << name;
  }
  lab::Options extras = options({"naive"});
  extras.problem.window = 8;
  extras.problem.softcap = 30;
  EXPECT_EQ(run(extras).at("naive").refusals.size(), 2U) << "what SDPA does not have";
  // A mask of a type that PyTorch does not take: it throws where it is called, and that is told.
  Call call = attention::make_call(device_, options({}).problem, 1);
  call.is_causal = false;
  call.mask = tensor::Tensor::from_floats(device_, DType::f16, {1, 1}, std::vector<float>{0});
  const Backend* const math = attention::find_variant("torch.math");
  const auto refused = attention::run_backend(*math, math->prepare(call));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::ErrorCode::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("PyTorch says: Expected attn_mask dtype"));
}

// Random problems, the conformance test's own: poisoned results, every layout and mask.
TEST_F(Torch, ConformsToTheReference) {
  constexpr uint64_t kSeed = 20261130;
  constexpr uint64_t kCases = 100;
  device_.set_poison(true);
  std::map<std::string, int> ran;
  std::map<std::string, std::map<std::string, int>> refused;
  for (uint64_t index = 0; index < kCases; ++index) {
    conformance::Case one = conformance::CaseMaker(device_, kSeed, index).make();
    one.call.want_lse = false;
    one.call.window.reset();
    one.call.softcap.reset();
    const auto exact = attention::reference::attention(one.call);
    const double bound =
        attention::reference::error_bound(exact.out, attention::reference::attention_in_dtype(one.call));
    for (const Backend* backend : attention::torch::backends()) {
      const std::string name(backend->name());
      if (const auto reasons = backend->refusals(one.call); !reasons.empty()) {
        EXPECT_THAT(reasons.front(), HasSubstr("PyTorch says: "));
        ++refused[name][reasons.front()];
        continue;
      }
      const auto output = attention::run_backend(*backend, backend->prepare(one.call));
      if (!output) {
        EXPECT_THAT(output.error().message, HasSubstr("PyTorch says: "));
        ++refused[name][output.error().message];
        continue;
      }
      // PyTorch 2.11's flash on the CPU multiplies its -inf by the scale: NaN, or the pairs that causality
      // hides.
      if (name == "flash" && one.call.is_causal && one.call.effective_scale() <= 0) continue;
      ++ran[name];
      EXPECT_EQ(output->out.dtype(), one.call.query.dtype());
      const auto empty_rows = backend->by_hand() && one.call.key.size(2) > 0 ? conformance::EmptyRows::nan
                                                                             : conformance::EmptyRows::zero;
      const auto verdict = conformance::judge_out(output->out.to_doubles(), exact, bound, empty_rows);
      EXPECT_TRUE(verdict.ok()) << name << " case " << index << ": " << verdict.why << " (" << verdict.worst
                                << " of " << bound << ")\n"
                                << one.text;
    }
  }
  device_.set_poison(false);
  for (const auto& [name, reasons] : refused)
    for (const auto& [reason, count] : reasons)
      fmt::print("torch.{} refused {:>4} x {}\n", name, count, reason);
  for (const auto& [name, count] : ran) fmt::print("torch.{} ran {}\n", name, count);
  EXPECT_EQ(ran["naive"], 100);
  EXPECT_EQ(ran["naive_inplace"], 100);
  EXPECT_GE(ran["math"], 90);
  EXPECT_GE(ran["flash"], 25);
}

TEST(TorchPlugin, AMissingOneIsToldWithWhatToDo) {
#ifdef HUNCH_TEST_PLUGIN
  GTEST_SKIP() << "this build has the plug-in";
#endif
  ::unsetenv(kVariable);
  const auto opened = attention::torch::open();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, base::ErrorCode::environment);
  EXPECT_THAT(opened.error().message, HasSubstr("libhunch_torch.so"));
  EXPECT_THAT(opened.error().remedy, HasSubstr("pip install torch"));
  EXPECT_EQ(attention::torch::plugin_path(), "");
}

TEST(TorchPlugin, VariantsHaveNamesOfTheirOwn) {
  EXPECT_EQ(attention::find_variant("torch.flash")->provider(), "torch");
  EXPECT_EQ(attention::find_variant("flash")->provider(), "native");
  EXPECT_EQ(attention::variant_name(*attention::find_variant("torch.flash")), "torch.flash");
  EXPECT_EQ(attention::find_variant("native.flash"), nullptr);
  EXPECT_EQ(attention::find_backend("torch.flash"), nullptr) << "the dispatcher knows hunch's own alone";
  std::vector<std::string> own, theirs;
  for (const Backend* backend : attention::backends()) own.emplace_back(backend->name());
  for (const Backend* backend : attention::torch::backends()) theirs.emplace_back(backend->name());
  EXPECT_EQ(own, theirs) << "the same six, in the same order";
}

}  // namespace
}  // namespace hunch
