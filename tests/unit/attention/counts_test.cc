// What each backend launches, counted by a Probe: the numbers that people's guesses are held against. Every
// count here comes from what was really launched.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counting_probe.h"
#include "hunch/attention/backend.h"
#include "hunch/attention/dispatch.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::attention {
namespace {

using tensor::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Count {
  int kernels, memcpys, memsets;
  bool operator==(const Count&) const = default;
  friend void PrintTo(const Count& count, std::ostream* out) {
    *out << fmt::format("{} kernels, {} memcpys, {} memsets", count.kernels, count.memcpys, count.memsets);
  }
};

class Counts : public ::testing::Test {
 protected:
  static Problem problem(MaskKind mask, DType dtype = DType::bf16, int64_t kv_heads = 4) {
    Problem problem;
    problem.batch = 2;
    problem.heads = 4;
    problem.kv_heads = kv_heads;
    problem.length = problem.kv_length = 24;
    problem.head_dim = 16;
    problem.dtype = dtype;
    problem.mask = mask;
    return problem;
  }

  // One forward after prepare(), whose work does not count.
  Count run(std::string_view name, const Problem& problem) {
    return run(name, make_call(device_, problem, 3));
  }
  Count run(std::string_view name, const Call& call) {
    const Backend* backend = find_backend(name);
    EXPECT_NE(backend, nullptr) << name;
    EXPECT_THAT(backend->refusals(call), ElementsAre()) << name;
    const Prepared prepared = backend->prepare(call);
    device_.synchronize();
    CountingProbe probe;
    {
      const base::ScopedProbe scope(&probe);
      run_backend(*backend, prepared);
      device_.synchronize();
    }
    EXPECT_EQ(probe.launches, probe.works) << "every launch runs once";
    launched_in_ = probe.launched_in;
    spans_ = probe.spans;
    return {probe.kernels, probe.memcpys, probe.memsets};
  }

  tensor::CpuDevice device_{2};
  std::vector<std::string> launched_in_, spans_;
};

TEST_F(Counts, ByHandOutOfPlaceCopiesBeforeItFills) {
  EXPECT_EQ(run("naive", problem(MaskKind::causal)), (Count{5, 1, 0}));
  ASSERT_EQ(launched_in_.size(), 6U);
  EXPECT_EQ(launched_in_[0], "hunch::matmul");
  EXPECT_EQ(launched_in_[1], "hunch::mul");
  EXPECT_THAT(launched_in_[2], StartsWith("hunch::masked_fill > hunch::clone"));  // the hidden copy
  EXPECT_THAT(launched_in_[3], StartsWith("hunch::masked_fill"));
  EXPECT_EQ(launched_in_[4], "hunch::softmax");
  EXPECT_EQ(launched_in_[5], "hunch::matmul");
  EXPECT_EQ(run("naive", problem(MaskKind::boolean)), (Count{5, 1, 0}));
  EXPECT_EQ(run("naive", problem(MaskKind::floating)), (Count{5, 0, 0}));
  EXPECT_EQ(run("naive", problem(MaskKind::none)), (Count{4, 0, 0}));
}

TEST_F(Counts, ByHandInPlaceDoesNot) {
  EXPECT_EQ(run("naive_inplace", problem(MaskKind::causal)), (Count{5, 0, 0}));
  EXPECT_EQ(run("naive_inplace", problem(MaskKind::boolean)), (Count{5, 0, 0}));
  EXPECT_EQ(run("naive_inplace", problem(MaskKind::floating)), (Count{5, 0, 0}));
  EXPECT_EQ(run("naive_inplace", problem(MaskKind::none)), (Count{4, 0, 0}));
}

TEST_F(Counts, ByHandRepeatsGroupedHeads) {
  EXPECT_EQ(run("naive", problem(MaskKind::causal, DType::bf16, 2)), (Count{7, 1, 0}));
  EXPECT_EQ(run("naive_inplace", problem(MaskKind::causal, DType::bf16, 2)), (Count{7, 0, 0}));
}

TEST_F(Counts, ByHandCastsTheWeightsDownAfterAWiderMask) {
  Problem wide = problem(MaskKind::floating, DType::f32);
  Call call = make_call(device_, problem(MaskKind::none), 3);
  call.mask = make_call(device_, wide, 3).mask;
  EXPECT_EQ(run("naive", call), (Count{6, 0, 0}));
}

TEST_F(Counts, MathDoesTwentyThings) {
  EXPECT_EQ(run("math", problem(MaskKind::causal)), (Count{20, 0, 0}));
  const std::string outer =
      "hunch::scaled_dot_product_attention > hunch::_scaled_dot_product_attention_math > ";
  std::vector<std::string> ops;
  for (const auto& path : launched_in_) {
    ASSERT_THAT(path, StartsWith(outer));
    ops.push_back(path.substr(outer.size()));
  }
  const auto is = [](const char* op) { return StartsWith(std::string("hunch::") + op); };
  EXPECT_THAT(ops, ElementsAre(is("cast"), is("cast"), is("cast"), is("mul"), is("ones"), is("tril"),
                               is("full"), is("full"), is("where"), is("mul"), is("matmul"), is("add"),
                               is("_safe_softmax > hunch::softmax"), is("_safe_softmax > hunch::is_neg_inf"),
                               is("_safe_softmax > hunch::all"), is("_safe_softmax > hunch::full"),
                               is("_safe_softmax > hunch::where"), is("cast"), is("matmul"), is("cast")));
}

TEST_F(Counts, MathByMask) {
  EXPECT_EQ(run("math", problem(MaskKind::none)), (Count{14, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::boolean)), (Count{18, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::floating)), (Count{15, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::causal, DType::f16)), (Count{20, 0, 0}));
}

TEST_F(Counts, MathInF32CastsNothing) {
  EXPECT_EQ(run("math", problem(MaskKind::causal, DType::f32)), (Count{15, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::none, DType::f32)), (Count{9, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::boolean, DType::f32)), (Count{13, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::floating, DType::f32)), (Count{10, 0, 0}));
}

TEST_F(Counts, MathRepeatsGroupedHeads) {
  EXPECT_EQ(run("math", problem(MaskKind::causal, DType::bf16, 2)), (Count{22, 0, 0}));
  EXPECT_EQ(run("math", problem(MaskKind::none, DType::bf16, 1)), (Count{16, 0, 0}));
}

TEST_F(Counts, FusedBackendsAreOneKernel) {
  for (const char* name : {"efficient", "flash"}) {
    for (const auto mask : {MaskKind::none, MaskKind::causal, MaskKind::boolean, MaskKind::floating}) {
      for (const auto dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const int64_t kv_heads : {1, 4}) {
          EXPECT_EQ(run(name, problem(mask, dtype, kv_heads)), (Count{1, 0, 0}))
              << name << " " << name_of(mask);
          ASSERT_EQ(launched_in_.size(), 1U);
          EXPECT_THAT(launched_in_[0],
                      StartsWith("hunch::scaled_dot_product_attention > hunch::_scaled_dot_product_"));
          EXPECT_THAT(launched_in_[0], HasSubstr(name));
        }
      }
    }
  }
}

TEST_F(Counts, ByHandOpensNoSpanOfItsOwn) {
  run("naive_inplace", problem(MaskKind::causal));
  EXPECT_THAT(spans_, ElementsAre("hunch::matmul", "hunch::mul", "hunch::masked_fill_", "hunch::softmax",
                                  "hunch::matmul"));
}

TEST_F(Counts, DispatchOpensTheOuterSpanOnce) {
  const Call call = make_call(device_, problem(MaskKind::causal), 3);
  const PinBackends pin({"math"});
  CountingProbe probe;
  {
    const base::ScopedProbe scope(&probe);
    ASSERT_TRUE(scaled_dot_product_attention(call).has_value());
    device_.synchronize();
  }
  EXPECT_EQ(probe.kernels, 20);
  ASSERT_GE(probe.spans.size(), 2U);
  EXPECT_EQ(probe.spans[0], "hunch::scaled_dot_product_attention");
  EXPECT_EQ(probe.spans[1],
            "hunch::scaled_dot_product_attention > hunch::_scaled_dot_product_attention_math");
}

// Peak memory above the inputs, in score matrices of the inputs' own type.
TEST_F(Counts, UnfusedBackendsStoreScoresAndFusedOnesDoNot) {
  Problem large = problem(MaskKind::causal, DType::f32);
  large.length = large.kv_length = 256;
  const Call call = make_call(device_, large, 3);
  const double matrix = 2.0 * 4.0 * 256 * 256 * 4;
  const auto peak = [&](const char* name) {
    const Backend* backend = find_backend(name);
    EXPECT_NE(backend, nullptr);
    const Prepared prepared = backend->prepare(call);
    device_.synchronize();
    device_.reset_peak();
    const int64_t before = device_.memory().in_use_bytes;
    run_backend(*backend, prepared);
    device_.synchronize();
    return static_cast<double>(device_.memory().peak_bytes - before) / matrix;
  };
  EXPECT_GE(peak("naive"), 2.0);
  EXPECT_LT(peak("naive"), 2.2);
  EXPECT_GE(peak("math"), 3.25);  // 13 bytes a pair: what its refusal counts with
  EXPECT_LT(peak("math"), 3.6);
  EXPECT_LT(peak("efficient"), 0.5);
  EXPECT_LT(peak("flash"), 0.5);
}

}  // namespace
}  // namespace hunch::attention
