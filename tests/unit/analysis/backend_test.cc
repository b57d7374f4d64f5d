// Which attention backend a forward took, from ops, kernels and the shape of attention by hand.
#include <gtest/gtest.h>

#include "hand_made.h"
#include "hunch/analysis/analysis.h"
#include "hunch/analysis/attention_ops.h"

namespace hunch::analysis {
namespace {

constexpr const char* kGemm = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn";
constexpr const char* kScale =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<c10::BFloat16, "
    "c10::BFloat16, "
    "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, "
    "at::native::BUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul>)";
constexpr const char* kSoftmax =
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, "
    "false>(c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)";
constexpr const char* kNorm =
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float "
    "const*, float const*, float const*, float*, float*, float*)";
constexpr const char* kFlash =
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
    "cutlass::bfloat16_t, Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, "
    "false, true, true, false>(pytorch_flash::Flash_fwd_params)";

struct Step {
  const char* op;
  const char* kernel;
};

std::string backend_of(const std::vector<Step>& steps) {
  HandMade made;
  made.range("fwd", 0, 10'000);
  double at = 10;
  uint64_t correlation = 1;
  for (const Step& step : steps) {
    made.op(step.op, at, at + 10);
    if (step.kernel != nullptr) {
      made.call(correlation, at + 2, at + 4);
      made.kernel(correlation++, at + 100, at + 101, step.kernel);
    }
    at += 20;
  }
  const auto trace = made.finish();
  return analyze(trace).forwards.at(0).backend;
}

TEST(Backend, NamesOfOps) {
  const std::pair<const char*, const char*> known[] = {
      {"aten::_scaled_dot_product_flash_attention", "flash"},
      {"aten::_scaled_dot_product_flash_attention_backward", "flash"},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", "flash"},
      {"aten::_flash_attention_forward", "flash"},
      {"autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0", "flash"},
      {"flash_attn::_flash_attn_forward", "flash"},
      {"aten::_scaled_dot_product_efficient_attention", "efficient"},
      {"aten::_efficient_attention_backward", "efficient"},
      {"xformers::efficient_attention_forward_cutlass", "efficient"},
      {"aten::_scaled_dot_product_cudnn_attention", "cudnn"},
      {"ScaledDotProductCudnnAttentionBackward0", "cudnn"},
      {"aten::_scaled_dot_product_attention_math", "math"},
      {"hunch::_scaled_dot_product_attention_math", "math"},
      {"aten::_scaled_dot_product_fused_attention_overrideable", "overrideable"},
      {"aten::scaled_dot_product_attention", ""},
      {"aten::_fused_sdp_choice", ""},
      {"aten::matmul", ""},
      {"aten::atan", ""},
  };
  for (const auto& [op, backend] : known) EXPECT_EQ(attention_backend_of_op(op), backend) << op;
}

TEST(Backend, AnAttentionOpWithoutDeviceWorkStillNamesIt) {
  EXPECT_EQ(backend_of({{"aten::_scaled_dot_product_flash_attention", nullptr}}), "flash");
}

TEST(Backend, KernelsNameItWhereNoOpDoes) {
  EXPECT_EQ(backend_of({{"my_extension::fwd", kFlash}}), "flash");
  EXPECT_EQ(backend_of({{"aten::_scaled_dot_product_efficient_attention", kFlash}}), "efficient")
      << "inside an attention op the op's word holds";
}

TEST(Backend, SeveralInOrderOfName) {
  EXPECT_EQ(backend_of({{"aten::_scaled_dot_product_attention_math", nullptr},
                        {"aten::_scaled_dot_product_cudnn_attention", nullptr}}),
            "cudnn+math");
}

TEST(Backend, AttentionByHand) {
  EXPECT_EQ(backend_of({{"aten::matmul", kGemm},
                        {"aten::mul", kScale},
                        {"aten::softmax", kSoftmax},
                        {"aten::matmul", kGemm}}),
            "naive");
  EXPECT_EQ(backend_of({{"aten::bmm", kGemm}, {"aten::softmax", kSoftmax}, {"aten::bmm", kGemm}}), "naive");
}

TEST(Backend, NotEverySoftmaxBetweenProductsIsAttention) {
  EXPECT_EQ(backend_of({{"aten::linear", kGemm}, {"aten::softmax", kSoftmax}, {"aten::linear", kGemm}}), "");
  EXPECT_EQ(backend_of({{"aten::matmul", kGemm}, {"aten::log_softmax", kSoftmax}, {"aten::matmul", kGemm}}),
            "");
  EXPECT_EQ(backend_of({{"aten::matmul", kGemm},
                        {"aten::layer_norm", kNorm},
                        {"aten::softmax", kSoftmax},
                        {"aten::matmul", kGemm}}),
            "");
  EXPECT_EQ(backend_of({{"aten::matmul", kGemm}, {"aten::softmax", kSoftmax}}), "");
}

TEST(Backend, TheMathBackendIsNotAttentionByHand) {
  HandMade made;
  made.range("fwd", 0, 1000);
  made.op("aten::_scaled_dot_product_attention_math", 10, 500);
  uint64_t correlation = 1;
  for (const char* kernel : {kGemm, kSoftmax, kGemm}) {
    made.call(correlation, 20 * static_cast<double>(correlation), 20 * static_cast<double>(correlation) + 2);
    made.kernel(correlation, 600 + static_cast<double>(correlation), 601 + static_cast<double>(correlation),
                kernel);
    ++correlation;
  }
  const auto trace = made.finish();
  EXPECT_EQ(analyze(trace).forwards.at(0).backend, "math");
}

TEST(Backend, OfTheBackwardThread) {
  HandMade made;
  made.range("bwd", 0, 1000);
  made.op("aten::_scaled_dot_product_cudnn_attention_backward", 100, 200, "2");
  const auto trace = made.finish();
  EXPECT_EQ(analyze(trace).forwards.at(0).backend, "cudnn");
}

TEST(Backend, OfTheWholeTrace) {
  HandMade made;
  made.op("aten::_scaled_dot_product_flash_attention", 100, 200);
  const auto trace = made.finish();
  EXPECT_EQ(analyze(trace).forwards.at(0).backend, "flash");
}

}  // namespace
}  // namespace hunch::analysis
