// What each op launches, as a listener sees it: how many kernels and copies, their names, inside which
// spans, and how memory moves. Attention's counts rest on these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "op_testing.h"

namespace hunch::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kKernels = kOnCuda ? "hunch::ops::cuda::" : "hunch::cpu::";

std::vector<std::string> names(const Ledger& ledger) {
  std::vector<std::string> names;
  for (const Work& work : ledger.launches) names.push_back(work.name);
  return names;
}

class Launches : public ::testing::Test {
 protected:
  Random random{1};
  Tensor x = random.tensor(DType::bf16, {2, 4, 8, 16});
  Tensor square = random.tensor(DType::f32, {2, 8, 8});
  Tensor row = random.tensor(DType::f32, {16});
  Tensor mask = random.tensor(DType::boolean, {8, 16});
};

TEST_F(Launches, OneKernelEach) {
  const auto one = [](const auto& body, const std::string& span, const std::string& kernel) {
    const Ledger ledger = record(body);
    EXPECT_THAT(ledger.spans, ElementsAre(span));
    EXPECT_THAT(names(ledger), ElementsAre(kernel));
    ASSERT_EQ(ledger.launches.size(), 1U);
    EXPECT_EQ(ledger.launches[0].kind, base::WorkKind::kernel);
    EXPECT_EQ(ledger.launches[0].api, kOnCuda ? "cudaLaunchKernel" : "hunchLaunchKernel");
    // The grid of a product on CUDA is the library's own affair.
    const bool told = !kOnCuda || kernel.find("matmul") == std::string::npos;
    EXPECT_EQ(ledger.launches[0].tiles > 0, told);
  };
  one([&] { matmul(x, x.transpose(-1, -2)); }, "hunch::matmul", kKernels + "matmul<bf16>");
  one([&] { mul(x, 0.5); }, "hunch::mul", kKernels + "mul<bf16>");
  one([&] { add(square, square); }, "hunch::add", kKernels + "add<f32>");
  one([&] { masked_fill_(x, mask, 0); }, "hunch::masked_fill_", kKernels + "masked_fill<bf16>");
  one([&] { softmax(x); }, "hunch::softmax", kKernels + "softmax<bf16>");
  one([&] { where(mask, row, row); }, "hunch::where", kKernels + "where<f32>");
  one([&] { tril(mask); }, "hunch::tril", kKernels + "tril<bool>");
  one([&] { ones(device(), DType::boolean, {3, 3}); }, "hunch::ones", kKernels + "fill<bool>");
  one([&] { full(device(), DType::f32, {}, 0.0); }, "hunch::full", kKernels + "fill<f32>");
  one([&] { is_neg_inf(square); }, "hunch::is_neg_inf", kKernels + "is_neg_inf<f32>");
  one([&] { all(mask); }, "hunch::all", kKernels + "all<bool>");
  one([&] { cast(x, DType::f32); }, "hunch::cast", kKernels + "cast<bf16, f32>");
  one([&] { repeat_heads(x, 3); }, "hunch::repeat_heads", kKernels + "repeat_heads<bf16>");
  one([&] { copy_(x, x.slice(0, 0, 1)); }, "hunch::copy_", kKernels + "copy<bf16>");
}

TEST_F(Launches, MaskedFillClonesFirst) {
  const Ledger ledger = record([&] { masked_fill(x, mask, 0); });
  EXPECT_THAT(ledger.spans, ElementsAre("hunch::masked_fill", "hunch::masked_fill>hunch::clone",
                                        "hunch::masked_fill>hunch::clone>hunch::copy_",
                                        "hunch::masked_fill>hunch::masked_fill_"));
  EXPECT_THAT(names(ledger), ElementsAre("Memcpy DtoD (Device -> Device)", kKernels + "masked_fill<bf16>"));
  EXPECT_EQ(ledger.launches[0].kind, base::WorkKind::memcpy);
  EXPECT_EQ(ledger.launches[0].api, kOnCuda ? "cudaMemcpyAsync" : "hunchMemcpyAsync");
  EXPECT_EQ(ledger.launches[0].bytes, x.numel() * 2);
  EXPECT_THAT(ledger.launch_paths, ElementsAre("hunch::copy_", "hunch::masked_fill_"));
}

TEST_F(Launches, CopiesAreMemcpysWhereDense) {
  EXPECT_THAT(names(record([&] { clone(x); })), ElementsAre("Memcpy DtoD (Device -> Device)"));
  EXPECT_THAT(names(record([&] { clone(x.transpose(1, 2)); })), ElementsAre(kKernels + "copy<bf16>"));
  EXPECT_THAT(names(record([&] { clone(x.slice(0, 1, 2)); })), ElementsAre("Memcpy DtoD (Device -> Device)"));
  EXPECT_THAT(names(record([&] { copy_(x, row); })), ElementsAre(kKernels + "cast<f32, bf16>"));
  const Ledger strided = record([&] { contiguous(x.transpose(1, 2)); });
  EXPECT_THAT(strided.spans, ElementsAre("hunch::contiguous", "hunch::contiguous>hunch::clone",
                                         "hunch::contiguous>hunch::clone>hunch::copy_"));
}

TEST_F(Launches, WhatNeedsNoWorkLaunchesNothing) {
  const Ledger ledger = record([&] {
    cast(x, DType::bf16);
    contiguous(x);
    x.transpose(1, 2).slice(0, 0, 1).expand({5, 8, 4, 16}).unsqueeze(0);
  });
  EXPECT_THAT(ledger.spans, IsEmpty());
  EXPECT_THAT(ledger.launches, IsEmpty());
  const Tensor none = Tensor::empty(device(), DType::bf16, {0, 4, 8});
  const Tensor no_mask = Tensor::empty(device(), DType::boolean, {0, 4, 8});
  const Ledger empty = record([&] {
    mul(none, 2);
    add(none, none);
    masked_fill(none, no_mask, 0);
    softmax(none);
    where(no_mask, none, none);
    tril(none);
    ones(device(), DType::f32, {0});
    is_neg_inf(none);
    all(no_mask);
    cast(none, DType::f32);
    clone(none);
    repeat_heads(none, 2);
    matmul(none, none.transpose(1, 2));
  });
  EXPECT_THAT(empty.launches, IsEmpty());
  EXPECT_THAT(empty.levels, IsEmpty());
}

TEST_F(Launches, EveryLaunchRunsOnceInOrder) {
  const Tensor hidden = random.tensor(DType::boolean, {8, 8});
  const Ledger ledger = record(
      [&] { matmul(softmax(masked_fill(mul(matmul(x, x.transpose(-1, -2)), 0.5), hidden, -INFINITY)), x); });
  EXPECT_THAT(ledger.ran, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(ledger.ended, ledger.ran);
  EXPECT_TRUE(ledger.ok);
  EXPECT_THAT(ledger.waits, ElementsAre(kOnCuda ? "cudaStreamSynchronize" : "hunchStreamSynchronize"));
}

TEST_F(Launches, SpansSayShapes) {
  const Ledger ledger = record([&] { matmul(x, x.transpose(-1, -2)); });
  EXPECT_THAT(ledger.span_dims, ElementsAre("[[2,4,8,16],[2,4,16,8]]"));
}

TEST_F(Launches, InPlaceSavesTheCloneMemory) {
  const auto bytes = x.numel() * 2;
  const auto peak = [&](const auto& body) {
    device().reset_peak();
    const int64_t before = device().memory().in_use_bytes;
    body();
    EXPECT_EQ(device().memory().in_use_bytes, before);
    return device().memory().peak_bytes - before;
  };
  EXPECT_EQ(peak([&] { masked_fill(mul(x, 1), mask, 0); }), 2 * bytes);
  EXPECT_EQ(peak([&] { masked_fill_(mul(x, 1), mask, 0); }), bytes);
  const Ledger ledger = record([&] { masked_fill(x, mask, 0); });
  ASSERT_EQ(ledger.levels.size(), 2U);
  EXPECT_EQ(ledger.levels[0] - ledger.levels[1], bytes);
}

// A dropped input may be reused while work on it is still to come: in stream order that is safe.
TEST_F(Launches, DroppedTensorsAreReusedInStreamOrder) {
  const Tensor large = full(device(), DType::f32, {256, 256}, 1.0);
  Tensor sum = full(device(), DType::f32, {256, 256}, 0.0);
  for (int i = 1; i <= 100; ++i) sum = add(sum, mul(large, i));
  for (const double value : sum.to_doubles()) ASSERT_EQ(value, 5050.0);
}

}  // namespace
}  // namespace hunch::ops::testing
