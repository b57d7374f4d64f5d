// fp32_upcast, tensor_cores_idle, mask_rebuilt, safe_softmax, unfused_attention, attention_backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules_made.h"

namespace hunch::analysis::rules {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// SDPA's math path: casts up, mask, product, safe softmax, weights cast down, product, cast down.
void math_path(Made& made, bool cast = true) {
  const auto to = [&](std::string_view kernel) {
    made.op("aten::to", [&] { made.op("aten::copy_", [&] { made.kernel(kernel); }); });
  };
  made.op("aten::scaled_dot_product_attention", [&] {
    made.op("aten::_scaled_dot_product_attention_math", [&] {
      for (int i = 0; i < 3 && cast; ++i) to(kernels::kCastUp);
      made.op("aten::ones", [&] { made.kernel(kernels::kFill); });
      made.op("aten::tril", [&] { made.kernel(kernels::kTril); });
      made.op("aten::scalar_tensor", [&] { made.kernel(kernels::kFill); });
      made.op("aten::where", [&] { made.kernel(kernels::kWhere); });
      made.op("aten::matmul", [&] { made.op("aten::bmm", [&] { made.kernel(kernels::kSgemm, 50'000); }); });
      made.op("aten::_safe_softmax", [&] {
        made.op("aten::softmax", [&] { made.kernel(kernels::kSoftmax); });
        made.op("aten::isneginf", [&] { made.kernel(kernels::kScale, 7'000); });
        made.op("aten::where", [&] { made.kernel(kernels::kWhere, 5'000); });
      });
      if (cast) to(kernels::kCastDown);
      made.op("aten::matmul", [&] { made.op("aten::bmm", [&] { made.kernel(kernels::kSgemm, 50'000); }); });
      if (cast) to(kernels::kCastDown);
    });
  });
}

TEST(Fp32Upcast, TheMathPathCastsUpAndItsWeightsDown) {
  Made made;
  made.gpu().range("fwd", [&] { math_path(made); });
  const auto found = findings_of(made, "fp32_upcast");
  ASSERT_THAT(found, SizeIs(2));  // largest cost first
  EXPECT_THAT(found[0].claim, HasSubstr("3 casts to f32 per forward, 30.0 us"));
  EXPECT_EQ(found[0].cost_ns, 30'000);
  EXPECT_EQ(found[0].cost_bytes, std::nullopt);
  EXPECT_THAT(found[1].claim,
              HasSubstr("the attention weights, cast down to bf16 for a result that nobody reads"));
  EXPECT_EQ(found[1].cost_ns, 10'000);
}

TEST(Fp32Upcast, ByTypesBeforeAnF32Product) {
  Made made;
  made.gpu().range("fwd", [&] {
    made.op("aten::to", [&] {
      made.op(
          "aten::copy_", [&] { made.kernel(kernels::kCastUp); }, "[[16,16],[16,16],[]]",
          R"(["float","c10::BFloat16","Scalar"])");
    });
    made.op("aten::bmm", [&] { made.kernel(kernels::kSgemm); });
  });
  const auto found = findings_of(made, "fp32_upcast");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cost_bytes, 16 * 16 * 4);
  EXPECT_THAT(found[0].claim, HasSubstr("1.00 KiB written"));
  EXPECT_THAT(found[0].cause, HasSubstr("bf16 tensors are cast up"));
}

TEST(Fp32Upcast, OwnKernelsNameBothTypes) {
  Made made;
  made.cpu().range("forward", [&] {
    made.op(
        "hunch::cast", [&] { made.kernel("hunch::cpu::cast<bf16, f32>"); }, "[[4,4]]");
    made.op("hunch::matmul", [&] { made.kernel("hunch::cpu::matmul<f32>"); });
  });
  const auto found = findings_of(made, "fp32_upcast");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cost_bytes, 64);
}

TEST(Fp32Upcast, SilentBeforeNormsUnknownTypesAnd16BitProducts) {
  constexpr std::string_view kTypes = R"(["float","c10::BFloat16","Scalar"])";
  Made made;
  made.gpu().range("fwd", [&] {
    made.op(
        "aten::copy_", [&] { made.kernel(kernels::kCastUp); }, "[[4],[4],[]]", kTypes);
    made.op("aten::layer_norm", [&] { made.kernel(kernels::kNorm); });
    made.op("aten::bmm", [&] { made.kernel(kernels::kSgemm); });
    made.op("aten::copy_", [&] { made.kernel(kernels::kCastUp); });  // from what, nobody says
    made.op("aten::bmm", [&] { made.kernel(kernels::kSgemm); });
    made.op(
        "aten::copy_", [&] { made.kernel(kernels::kCastUp); }, "[[4],[4],[]]",
        R"(["float","long int","Scalar"])");
    made.op("aten::bmm", [&] { made.kernel(kernels::kSgemm); });
    made.op(
        "aten::copy_", [&] { made.kernel(kernels::kCastUp); }, "[[4],[4],[]]", kTypes);
    made.op("aten::bmm", [&] { made.kernel(kernels::kProduct); });
  });
  EXPECT_THAT(findings_of(made, "fp32_upcast"), IsEmpty());
}

TEST(Fp32Upcast, SilentOnAMathPathOfF32Inputs) {
  Made made;
  made.gpu().range("fwd", [&] { math_path(made, false); });
  EXPECT_THAT(findings_of(made, "fp32_upcast"), IsEmpty());
}

TEST(TensorCoresIdle, ProductsOfTheMathPathHad16BitInputs) {
  Made made;
  made.gpu().range("fwd", [&] { math_path(made); });
  const auto found = findings_of(made, "tensor_cores_idle");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim, HasSubstr("2 products per forward on CUDA cores, 100 us"));
  EXPECT_THAT(found[0].cause, HasSubstr("the inputs are bf16"));
}

TEST(TensorCoresIdle, F32ProductsWhereTf32WouldDo) {
  const auto run = [](int major, bool tf32, Ns rest) {
    Made made;
    made.gpu(major).range("fwd", [&] {
      made.op("aten::mm", [&] { made.kernel(kernels::kSgemm); });
      if (tf32) made.op("aten::mm", [&] { made.kernel(kernels::kTf32); });
      made.op("aten::mul", [&] { made.kernel(kernels::kScale, rest); });
    });
    return findings_of(made, "tensor_cores_idle");
  };
  ASSERT_THAT(run(9, false, 10'000), SizeIs(1));
  EXPECT_THAT(run(9, false, 10'000)[0].advice, HasSubstr("TF32"));
  EXPECT_THAT(run(9, true, 10'000), IsEmpty());      // allowed already
  EXPECT_THAT(run(7, false, 10'000), IsEmpty());     // no TF32 there
  EXPECT_THAT(run(9, false, 5'000'000), IsEmpty());  // a trifle
}

TEST(TensorCoresIdle, SilentOnCpusUnknownDevicesAndTensorCores) {
  Made cpu;
  cpu.cpu().range("fwd", [&] { math_path(cpu); });
  EXPECT_THAT(findings_of(cpu, "tensor_cores_idle"), IsEmpty());
  Made unknown;
  unknown.range("fwd", [&] { math_path(unknown); });
  EXPECT_THAT(findings_of(unknown, "tensor_cores_idle"), IsEmpty());
  Made busy;
  busy.gpu().range("fwd", [&] { busy.op("aten::bmm", [&] { busy.kernel(kernels::kProduct); }); });
  EXPECT_THAT(findings_of(busy, "tensor_cores_idle"), IsEmpty());
}

TEST(MaskRebuilt, OnesTrilFillWhereOfEveryRun) {
  Made made;
  for (int run = 0; run < 2; ++run) made.range("fwd", [&] { math_path(made); });
  const auto found = findings_of(made, "mask_rebuilt");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim, HasSubstr("4 kernels per forward to make the mask, 40.0 us"));
  EXPECT_THAT(found[0].cause, HasSubstr("each of the 2 runs makes it anew"));
  EXPECT_THAT(found[0].events, SizeIs(4));
}

TEST(MaskRebuilt, SilentWhereARunDoesWithoutOrNobodyUsesIt) {
  Made once;
  once.range("fwd", [&] { math_path(once); });
  once.range("fwd", [&] { once.op("aten::softmax", [&] { once.kernel(kernels::kSoftmax); }); });
  EXPECT_THAT(findings_of(once, "mask_rebuilt"), IsEmpty());
  Made unused;
  unused.range("fwd", [&] {
    unused.op("aten::softmax", [&] { unused.kernel(kernels::kSoftmax); });
    unused.op("aten::tril", [&] { unused.kernel(kernels::kTril); });
  });
  EXPECT_THAT(findings_of(unused, "mask_rebuilt"), IsEmpty());
}

TEST(SafeSoftmax, CountsWhatIsNotTheSoftmax) {
  Made made;
  made.range("fwd", [&] { math_path(made); });
  const auto found = findings_of(made, "safe_softmax");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim, HasSubstr("2 kernels per forward besides the softmax itself, 12.0 us"));
  EXPECT_THAT(found[0].cause, HasSubstr("isneginf 7.00 us, where 5.00 us"));
  Made plain;
  plain.range("fwd", [&] {
    plain.op("aten::softmax", [&] { plain.kernel(kernels::kSoftmax); });
    plain.op("aten::where", [&] { plain.kernel(kernels::kWhere); });
  });
  EXPECT_THAT(findings_of(plain, "safe_softmax"), IsEmpty());
}

void by_hand(Made& made, std::string_view shape = {}, std::string_view types = {}) {
  made.op("aten::matmul", [&] { made.op("aten::bmm", [&] { made.kernel(kernels::kProduct); }); });
  made.op("aten::mul", [&] { made.kernel(kernels::kScale, 5'000); });
  made.op(
      "aten::softmax", [&] { made.op("aten::_softmax", [&] { made.kernel(kernels::kSoftmax, 15'000); }); },
      shape, types);
  made.op("aten::matmul", [&] { made.op("aten::bmm", [&] { made.kernel(kernels::kProduct); }); });
}

TEST(UnfusedAttention, EachLayerOnce) {
  Made made;
  made.range("fwd", [&] {
    for (int layer = 0; layer < 3; ++layer) {
      by_hand(made, "[[2,4,8,8],[],[]]", R"(["c10::BFloat16","Scalar","Scalar"])");
      made.op("aten::linear", [&] { made.op("aten::mm", [&] { made.kernel(kernels::kProduct); }); });
    }
  });
  const auto found = findings_of(made, "unfused_attention");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(
      found[0].claim,
      HasSubstr(
          "3 attentions per forward in separate kernels; the work between their two products takes 60.0 us"));
  EXPECT_EQ(found[0].cost_ns, 60'000);
  EXPECT_EQ(found[0].cost_bytes, 3 * 2 * 4 * 8 * 8 * 2);
  EXPECT_THAT(found[0].cause, HasSubstr("matmul, mul, softmax, matmul run one after the other"));
  EXPECT_THAT(found[0].events, SizeIs(12));
}

TEST(UnfusedAttention, WithoutShapesNoBytes) {
  Made made;
  made.range("fwd", [&] { by_hand(made); });
  const auto found = findings_of(made, "unfused_attention");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].cost_bytes, std::nullopt);
  EXPECT_THAT(found[0].claim, Not(HasSubstr("scores in memory")));
}

TEST(UnfusedAttention, SilentOnLayersHeadsAndFusedKernels) {
  Made head;  // a classifier's end: product, softmax, and no product after
  head.range("fwd", [&] {
    head.op("aten::matmul", [&] { head.op("aten::bmm", [&] { head.kernel(kernels::kProduct); }); });
    head.op("aten::softmax", [&] { head.kernel(kernels::kSoftmax); });
  });
  EXPECT_THAT(findings_of(head, "unfused_attention"), IsEmpty());

  Made layers;
  layers.range("fwd", [&] {
    layers.op("aten::linear", [&] { layers.op("aten::mm", [&] { layers.kernel(kernels::kProduct); }); });
    layers.op("aten::softmax", [&] { layers.kernel(kernels::kSoftmax); });
    layers.op("aten::linear", [&] { layers.op("aten::mm", [&] { layers.kernel(kernels::kProduct); }); });
  });
  EXPECT_THAT(findings_of(layers, "unfused_attention"), IsEmpty());

  Made norm;  // something that is no part of attention stands between
  norm.range("fwd", [&] {
    norm.op("aten::bmm", [&] { norm.kernel(kernels::kProduct); });
    norm.op("aten::layer_norm", [&] { norm.kernel(kernels::kNorm); });
    norm.op("aten::softmax", [&] { norm.kernel(kernels::kSoftmax); });
    norm.op("aten::bmm", [&] { norm.kernel(kernels::kProduct); });
  });
  EXPECT_THAT(findings_of(norm, "unfused_attention"), IsEmpty());

  Made fused;
  fused.range("fwd", [&] {
    fused.op("aten::_scaled_dot_product_flash_attention", [&] { fused.kernel(kernels::kFlash); });
  });
  EXPECT_THAT(findings_of(fused, "unfused_attention"), IsEmpty());
}

void sdpa(Made& made, std::string_view dims, std::string_view types) {
  made.op(
      "aten::scaled_dot_product_attention",
      [&] { made.op("aten::_scaled_dot_product_flash_attention", [&] { made.kernel(kernels::kFlash); }); },
      dims, types);
}

TEST(AttentionBackend, CallsAreCountedAndOthersJudgedByShape) {
  Made made;
  made.gpu().range("fwd", [&] {
    for (int i = 0; i < 2; ++i) {
      sdpa(made, "[[8,16,1024,64],[8,16,1024,64],[8,16,1024,64],[],[],[],[],[]]",
           R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","","Scalar","Scalar","","Scalar"])");
    }
  });
  const auto found = findings_of(made, "attention_backend");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].claim, "2 attention calls per forward took flash: 20.0 us (100 % of the forward)");
  EXPECT_THAT(found[0].advice, HasSubstr("efficient and cudnn would take it too"));
}

TEST(AttentionBackend, WithoutShapesOrDeviceItDoesNotGuess) {
  Made bare;
  bare.gpu().range("fwd", [&] { sdpa(bare, {}, {}); });
  const auto found = findings_of(bare, "attention_backend");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].advice, HasSubstr("the trace has no shapes"));
  Made unknown;
  unknown.range("fwd", [&] {
    sdpa(unknown, "[[1,1,8,64],[1,1,8,64],[1,1,8,64],[]]", R"(["c10::Half","c10::Half","c10::Half",""])");
  });
  EXPECT_THAT(findings_of(unknown, "attention_backend").at(0).advice, HasSubstr("depends on the device"));
}

TEST(AttentionBackend, ByKernelWhereNoOpTells) {
  Made made;
  made.range("fwd", [&] { made.op("custom::attention", [&] { made.kernel(kernels::kFlash); }); });
  const auto found = findings_of(made, "attention_backend");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim, HasSubstr("1 attention kernel per forward took flash"));
  Made none;
  none.range("fwd", [&] { by_hand(none); });
  EXPECT_THAT(findings_of(none, "attention_backend"), IsEmpty());
}

}  // namespace
}  // namespace hunch::analysis::rules
