// hidden_copy, layout_copy, workspace_memset, window_leak: what fires them, and what must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules_made.h"

namespace hunch::analysis::rules {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kDtoD = "Memcpy DtoD (Device -> Device)";

void masked_fill(Made& made, std::string_view prefix = "aten::") {
  const std::string p(prefix);
  made.op(p + "masked_fill", [&] {
    made.op(p + "clone", [&] { made.op(p + "copy_", [&] { made.memcpy(kDtoD, 4096, 10'000); }); });
    made.op(p + "masked_fill_", [&] { made.kernel(kernels::kMaskedFill, 10'000); });
  });
}

// One forward: `before`, then masked_fill.
template <class Before>
Finding after(const Before& before) {
  Made made;
  made.range("fwd", [&] {
    before(made);
    masked_fill(made);
  });
  const auto found = findings_of(made, "hidden_copy");
  EXPECT_THAT(found, SizeIs(1));
  return found.empty() ? Finding{} : found.front();
}

TEST(HiddenCopy, MaskedFillAfterAConstantScaleIsSafeInPlace) {
  const Finding finding =
      after([](Made& made) { made.op("aten::mul", [&] { made.kernel(kernels::kScale, 20'000); }); });
  EXPECT_EQ(finding.claim, "1 copy per forward, 10.0 us (25 % of the forward)");
  EXPECT_EQ(finding.cost_ns, 10'000);
  EXPECT_EQ(finding.cost_bytes, 4096);
  EXPECT_THAT(finding.cause, HasSubstr("`aten::masked_fill` clones its input before it fills"));
  EXPECT_THAT(finding.cause, HasSubstr("`aten::masked_fill > aten::clone > aten::copy_`"));
  EXPECT_THAT(finding.advice, HasSubstr("`masked_fill_` drops it; safe here even with a backward pass"));
  EXPECT_THAT(finding.advice, HasSubstr("(mul by a constant) saved nothing"));
  EXPECT_THAT(finding.events, SizeIs(1));
}

TEST(HiddenCopy, AfterSoftmaxItWarns) {
  const Finding finding = after([](Made& made) {
    made.op("aten::softmax", [&] { made.op("aten::_softmax", [&] { made.kernel(kernels::kSoftmax); }); });
  });
  EXPECT_THAT(finding.advice, HasSubstr("Unsafe with a backward pass"));
  EXPECT_THAT(finding.advice, HasSubstr("(softmax) saved"));
  EXPECT_THAT(finding.advice, Not(HasSubstr("safe here")));
}

TEST(HiddenCopy, AfterAScaleByATensorItWarns) {
  const Finding finding =
      after([](Made& made) { made.op("aten::mul", [&] { made.kernel(kernels::kMul); }); });
  EXPECT_THAT(finding.advice, HasSubstr("Warning for a backward pass"));
  EXPECT_THAT(finding.advice, HasSubstr("learned"));
}

TEST(HiddenCopy, ATypeTellsAConstantWhereTheKernelDoesNot) {
  const Finding finding = after([](Made& made) {
    made.op(
        "aten::mul", [&] { made.kernel(kernels::kMul); }, "[[4,4],[]]", R"(["c10::BFloat16","double"])");
  });
  EXPECT_THAT(finding.advice, HasSubstr("safe here even with a backward pass"));
}

TEST(HiddenCopy, AfterAnUnknownOpItSaysToCheck) {
  const Finding finding =
      after([](Made& made) { made.op("custom::thing", [&] { made.kernel(kernels::kMul); }); });
  EXPECT_THAT(finding.advice, HasSubstr("check first"));
  EXPECT_THAT(finding.advice, HasSubstr("thing"));
}

TEST(HiddenCopy, OwnRecordingsSpeakTheSameWords) {
  Made made;
  made.cpu();
  made.range("forward", [&] {
    made.op("hunch::mul", [&] { made.kernel("hunch::cpu::mul<bf16>"); });
    masked_fill(made, "hunch::");
  });
  const auto found = findings_of(made, "hidden_copy");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].cause, HasSubstr("`hunch::masked_fill` clones its input"));
  EXPECT_THAT(found[0].advice, HasSubstr("safe here even with a backward pass"));
}

TEST(HiddenCopy, CostIsTheMedianOfTheRuns) {
  Made made;
  for (const Ns duration : {30'000, 10'000, 20'000}) {
    made.range("fwd", [&] {
      made.op("aten::index_put", [&] {
        made.op("aten::clone", [&] { made.op("aten::copy_", [&] { made.memcpy(kDtoD, 100, duration); }); });
      });
    });
  }
  const auto found = findings_of(made, "hidden_copy");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cost_ns, 20'000);
  EXPECT_THAT(found[0].cause, HasSubstr("clones its input before it writes"));
  EXPECT_THAT(found[0].advice, HasSubstr("`index_put_`"));
}

TEST(HiddenCopy, ThePythonFrameIsNamed) {
  Made made;
  made.range("fwd", [&] {
    made.frame("model.py(12): attend",
               [&] { made.frame("torch/nn/functional.py(3): softmax", [&] { masked_fill(made); }); });
  });
  const auto found = findings_of(made, "hidden_copy");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].cause, HasSubstr(", from model.py(12): attend"));
}

TEST(HiddenCopy, SilentInPlaceAndOnCopiesByName) {
  Made made;
  made.range("fwd", [&] {
    made.op("aten::masked_fill_", [&] { made.kernel(kernels::kMaskedFill); });
    made.op("aten::copy_", [&] { made.memcpy(kDtoD, 4096); });
    made.op("aten::to",
            [&] { made.op("aten::copy_", [&] { made.memcpy("Memcpy HtoD (Pinned -> Device)", 4096); }); });
    made.op("aten::contiguous", [&] {
      made.op("aten::clone", [&] { made.op("aten::copy_", [&] { made.kernel(kernels::kCopy); }); });
    });
  });
  EXPECT_THAT(findings_of(made, "hidden_copy"), IsEmpty());
}

void contiguous(Made& made, Ns duration = 10'000) {
  made.op("aten::contiguous", [&] {
    made.op("aten::clone", [&] {
      made.op(
          "aten::copy_", [&] { made.kernel(kernels::kCopy, duration); }, "[[2,8],[2,8],[]]",
          R"(["c10::BFloat16","c10::BFloat16","Scalar"])");
    });
  });
}

TEST(LayoutCopy, ContiguousCopiesAreCountedTogether) {
  Made made;
  made.range("fwd", [&] {
    for (int i = 0; i < 4; ++i) contiguous(made);
    made.op("aten::bmm", [&] { made.kernel(kernels::kProduct, 40'000); });
  });
  const auto found = findings_of(made, "layout_copy");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].claim, "4 layout copies per forward, 40.0 us (50 % of the forward)");
  EXPECT_EQ(found[0].cost_bytes, 4 * 16 * 2);
  EXPECT_THAT(found[0].events, SizeIs(4));
}

TEST(LayoutCopy, AReshapeAfterAnExpandRepeatsHeads) {
  Made made;
  made.range("fwd", [&] {
    made.op("aten::expand", [] {});
    made.op("aten::reshape", [&] {
      made.op("aten::clone", [&] { made.op("aten::copy_", [&] { made.kernel(kernels::kCopy); }); });
    });
    made.op("aten::matmul", [&] {
      made.op("aten::reshape", [&] {
        made.op("aten::clone", [&] { made.op("aten::copy_", [&] { made.kernel(kernels::kCopy); }); });
      });
      made.op("aten::bmm", [&] { made.kernel(kernels::kProduct); });
    });
  });
  const auto found = findings_of(made, "layout_copy");
  ASSERT_THAT(found, SizeIs(2));
  const bool first = found[0].cause.find("repeat_kv") != std::string::npos;
  EXPECT_THAT(found[first ? 0 : 1].cause, HasSubstr("`expand` makes a view"));
  EXPECT_THAT(found[first ? 1 : 0].cause, HasSubstr("the product needs its batch dimensions dense"));
  EXPECT_EQ(found[0].cost_bytes, std::nullopt);  // no shapes, no bytes
}

TEST(LayoutCopy, SilentOnHiddenCopiesCastsAndTrifles) {
  Made made;
  made.range("fwd", [&] {
    masked_fill(made);
    made.op("aten::to", [&] { made.op("aten::copy_", [&] { made.kernel(kernels::kCastDown); }); });
    contiguous(made, 1'000);
    made.op("aten::bmm", [&] { made.kernel(kernels::kProduct, 1'000'000); });
  });
  EXPECT_THAT(findings_of(made, "layout_copy"), IsEmpty());
}

TEST(WorkspaceMemset, OfALibraryAndNotOfTheProgram) {
  Made made;
  made.range("fwd", [&] {
    made.op("aten::zero_", [&] { made.memset(512); });
    made.op("aten::bmm", [&] {
      made.memset(4);
      made.kernel(kernels::kNvjet, 9'000);
    });
  });
  const auto found = findings_of(made, "workspace_memset");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].claim, "1 memset per forward, 1.00 us (9.1 % of the forward), 4 B");
  EXPECT_EQ(found[0].cause, "cuBLAS clears its workspace before a kernel, within `aten::bmm`");

  Made zeros;
  zeros.range("fwd", [&] {
    zeros.op("aten::zeros", [&] { zeros.memset(512); });
    zeros.op("aten::bmm", [&] { zeros.kernel(kernels::kNvjet); });
  });
  EXPECT_THAT(findings_of(zeros, "workspace_memset"), IsEmpty());
}

TEST(WindowLeak, WorkBeforeTheFirstLaunchedOne) {
  Made made;
  made.orphan(kernels::kScale, 900'000, 50'000);
  made.orphan(kernels::kSoftmax, 950'000, 40'000);
  made.range("fwd", [&] { made.op("aten::bmm", [&] { made.kernel(kernels::kProduct); }); });
  made.range("other", [&] { made.op("aten::bmm", [&] { made.kernel(kernels::kProduct); }); });
  const auto found = findings_of(made, "window_leak");
  ASSERT_THAT(found, SizeIs(1));  // once a trace
  EXPECT_EQ(found[0].range, "fwd");
  EXPECT_EQ(found[0].claim, "2 device events (90.0 us) at the start of the trace belong to no forward");
  EXPECT_THAT(found[0].events, SizeIs(2));
}

TEST(WindowLeak, SilentOnLaterOrphansAndWithoutThem) {
  Made late;
  late.range("fwd", [&] { late.op("aten::bmm", [&] { late.kernel(kernels::kProduct); }); });
  late.orphan(kernels::kScale, 5'000'000, 50'000);
  EXPECT_THAT(findings_of(late, "window_leak"), IsEmpty());
  Made none;
  none.range("fwd", [&] { none.op("aten::bmm", [&] { none.kernel(kernels::kProduct); }); });
  EXPECT_THAT(findings_of(none, "window_leak"), IsEmpty());
}

}  // namespace
}  // namespace hunch::analysis::rules
