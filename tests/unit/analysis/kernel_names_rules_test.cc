// The traps in kernel names, one behaviour a test: words that mislead, two demanglers, types that mean
// something else, and what stays untold.
#include <gtest/gtest.h>

#include <string>

#include "hunch/analysis/kernel_names.h"

namespace hunch::analysis {
namespace {

Family family(std::string_view name) { return kernel_facts(name).family; }
std::string dtype(std::string_view name) { return kernel_facts(name).dtype; }
std::string readable(std::string_view name) { return kernel_facts(name).readable; }

TEST(KernelNameTraps, InductorNamesListOperationsTheyAreNot) {
  EXPECT_EQ(family("triton_poi_fused__scaled_dot_product_flash_attention_clone_3"), Family::elementwise);
  EXPECT_EQ(family("triton_poi_fused_addmm_relu_0"), Family::elementwise);
  EXPECT_EQ(family("triton_red_fused__softmax_mm_1"), Family::reduction);
  EXPECT_EQ(family("triton_per_fused_native_layer_norm_2"), Family::reduction);
  EXPECT_EQ(family("triton_tem_fused_flex_attention_0"), Family::attention_forward);
  EXPECT_EQ(family("triton_tem_fused_flex_attention_backward_1"), Family::attention_backward);
  EXPECT_EQ(family("triton_tem_fused_addmm_5"), Family::matmul);
  EXPECT_EQ(readable("triton_poi_fused_add_cos_sin_0"), "Inductor pointwise add_cos_sin");
}

TEST(KernelNameTraps, AroundAttentionIsNotAttention) {
  EXPECT_EQ(family("create_flashinfer_kv_indices_triton"), Family::index);
  EXPECT_EQ(family("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>(int)"),
            Family::kv_cache);
  EXPECT_EQ(family("sage_quant_kernel"), Family::quantize);
  EXPECT_EQ(family("void quantize<float>(flashinfer::QuantizationSFLayout)"), Family::quantize);
  EXPECT_EQ(family("void scaled_masked_softmax_warp_forward<__half, __half, float, 10>(int)"),
            Family::softmax);
}

TEST(KernelNameTraps, GemmInTheNameOfAConvolution) {
  EXPECT_EQ(family("igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8"), Family::convolution);
  EXPECT_EQ(
      family("sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4"),
      Family::convolution);
  EXPECT_EQ(
      family("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>(int)"),
      Family::convolution);
}

TEST(KernelNameTraps, DeviceKernelOfCutlassIsWhatItWraps) {
  EXPECT_EQ(
      family("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >(int)"),
      Family::attention_forward);
  EXPECT_EQ(
      family("void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8> > > >(int)"),
      Family::attention_combine);
  EXPECT_EQ(family("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(int)"),
            Family::matmul);
}

TEST(KernelNameTraps, BothDemanglersTellTheSame) {
  const auto kineto = kernel_facts(
      "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
      "false, "
      "cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, "
      "false, true>"
      "(pytorch_flash::Flash_fwd_params)");
  const auto nsys = kernel_facts(
      "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<(int)64, (int)128, "
      "(int)128, (int)4, "
      "(bool)0, (bool)0, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<(int)64, (int)128, "
      "(int)128, (int)4, "
      "cutlass::bfloat16_t>>, (bool)0, (bool)1>(pytorch_flash::Flash_fwd_params)");
  EXPECT_EQ(kineto.readable, "flash forward 128x128x64 bf16");
  EXPECT_EQ(nsys.readable, kineto.readable);
  EXPECT_EQ(nsys.tile, kineto.tile);
  EXPECT_EQ(nsys.backend, "flash");

  EXPECT_EQ(
      readable(
          "void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::masked_fill_kernel("
          "at::TensorIterator &, const c10::Scalar &)::[lambda() (instance 1)]::operator ()() "
          "const::[lambda() "
          "(instance 12)]::operator ()() const::[lambda(c10::BFloat16, bool) (instance 1)], std::array<char "
          "*, "
          "(unsigned long)3>>(int, T2, T3)"),
      "masked_fill bf16");
}

TEST(KernelNameTraps, MangledNames) {
  EXPECT_EQ(readable("_ZN5hunch3cpu7softmaxIfEEvPT_i"), "softmax f32");
  // The demangler does not know this one; its identifiers tell enough.
  const auto silu = kernel_facts(
      "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_"
      "EEEEvPS3_PS4_i");
  EXPECT_EQ(silu.family, Family::elementwise);
  EXPECT_EQ(silu.dtype, "bf16");
  EXPECT_EQ(family("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipeline"), Family::norm);
  EXPECT_EQ(family("_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_32BlockFmhaPipeline"),
            Family::attention_forward);
  EXPECT_EQ(dtype("_Z3fooIDF16bEvT_"), "");  // unknown stays silent
}

TEST(KernelNameTraps, CastsAndCopies) {
  constexpr std::string_view kHead = "void at::native::elementwise_kernel<128, 4, at::native::";
  constexpr std::string_view kFunctor =
      "<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
      "const::{lambda()#7}::"
      "operator()() const::{lambda(float)#1}>(int)::{lambda(int)#1}>(int)";
  EXPECT_EQ(family(std::string(kHead) + "gpu_kernel_impl_nocast" + std::string(kFunctor)), Family::copy);
  const auto cast = kernel_facts(std::string(kHead) + "gpu_kernel_impl" + std::string(kFunctor));
  EXPECT_EQ(cast.family, Family::cast);
  EXPECT_EQ(cast.dtype, "f32");
  EXPECT_EQ(cast.readable, "cast to f32");
  EXPECT_EQ(
      readable("void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda("
               "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)"),
      "cast f32 to bf16");
  EXPECT_EQ(readable("hunch::cpu::cast<bf16, f32>"), "cast bf16 to f32");
  EXPECT_EQ(readable("void hunch::ops::cuda::cast<__nv_bfloat16, float, 8, unsigned int>"
                     "(hunch::ops::cuda::Strided<2>)"),
            "cast bf16 to f32");
}

TEST(KernelNameTraps, OwnKernelsOfTheGpu) {
  const auto flash = kernel_facts(
      "void hunch::attention::sm80::flash_forward_kernel<hunch::attention::sm80::FlashShape<__nv_bfloat16, "
      "64, "
      "128, 80, 4, 2, false, 2>, false, false>(hunch::attention::sm80::AttentionParams)");
  EXPECT_EQ(flash.family, Family::attention_forward);
  EXPECT_EQ(flash.backend, "flash");
  EXPECT_EQ(flash.provider, "hunch");
  EXPECT_EQ(flash.tensor_cores, true);
  EXPECT_EQ(flash.readable, "flash forward sm80 128x80x64 bf16");
  const auto few = kernel_facts(
      "void hunch::attention::sm80::flash_few_rows_kernel<hunch::attention::sm80::FewRowsShape<__half, 128, "
      "32, 2, 2, 3, true>, false>(hunch::attention::sm80::AttentionParams)");
  EXPECT_EQ(few.backend, "flash");
  EXPECT_EQ(few.tensor_cores, true);
  EXPECT_EQ(few.tile, "16x64x128");  // of its two warps together, as `hunch why` says
  EXPECT_EQ(few.readable, "flash forward for few rows sm80 16x64x128 f16");
  EXPECT_EQ(readable("hunch::attention::sm80::flash_few_rows_kernel<bf16>"),
            "flash forward for few rows sm80 bf16");
  const auto efficient = kernel_facts(
      "void "
      "hunch::attention::sm80::efficient_forward_f32_kernel<hunch::attention::sm80::EfficientShape<float, "
      "64, 128, 64, 4, 2>, false>(hunch::attention::sm80::AttentionParams)");
  EXPECT_EQ(efficient.backend, "efficient");
  EXPECT_EQ(efficient.dtype, "f32");
  EXPECT_EQ(efficient.tensor_cores, true);
  EXPECT_EQ(kernel_facts("void hunch::attention::sm80::flash_combine_kernel<__half>"
                         "(hunch::attention::sm80::AttentionParams)")
                .family,
            Family::attention_combine);
  EXPECT_EQ(readable("void hunch::ops::cuda::mul_tiles<float>(hunch::ops::cuda::Tiles)"), "mul f32");
}

TEST(KernelNameTraps, AccumulatorsAreNotTheType) {
  EXPECT_EQ(dtype("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, "
                  "at::native::func_wrapper_t<c10::Half, "
                  "at::native::sum_functor<c10::Half, float, "
                  "c10::Half>::operator()(at::TensorIterator&)::{lambda(float, "
                  "float)#1}>, unsigned int, c10::Half, 4> >(int)"),
            "f16");
  EXPECT_EQ(dtype("void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, "
                  "false, false>(int)"),
            "bf16");
  EXPECT_EQ(
      dtype("void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, "
            "c10::BFloat16, "
            "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)"),
      "bf16");
}

TEST(KernelNameTraps, WhatMultiplies) {
  EXPECT_EQ(kernel_facts("ampere_sgemm_128x64_nn").tensor_cores, false);
  EXPECT_EQ(
      kernel_facts("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(int)").tensor_cores,
      false);
  EXPECT_EQ(kernel_facts(
                "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4")
                .tensor_cores,
            false);
  const auto tf32 =
      kernel_facts("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4>(int)");
  EXPECT_EQ(tf32.tensor_cores, true);
  EXPECT_EQ(tf32.dtype, "tf32");
  EXPECT_EQ(tf32.tile, "128x128x16");
  EXPECT_EQ(tf32.stages, 5);
  const auto nvjet = kernel_facts("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT");
  EXPECT_EQ(nvjet.tensor_cores, true);
  EXPECT_EQ(nvjet.dtype, "");  // its letters are no dtype that anyone documents
  EXPECT_EQ(nvjet.stages, 4);
  EXPECT_EQ(nvjet.readable, "cuBLAS nvjet 256x128");
  EXPECT_EQ(kernel_facts("hunch::cpu::matmul<bf16>").tensor_cores, std::nullopt);
  EXPECT_EQ(
      kernel_facts("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)")
          .tensor_cores,
      std::nullopt);
  EXPECT_EQ(kernel_facts("SubTensorOpWithScalar1d").tensor_cores,
            std::nullopt);  // "TensorOp", and no product
}

TEST(KernelNameTraps, MemoryWords) {
  EXPECT_EQ(family("Memcpy DtoH (Device -> Pageable)"), Family::memcpy);
  EXPECT_EQ(family("Memcpy HtoD (Host -> Device)"), Family::memcpy);
  EXPECT_EQ(family("Memset (Unknown)"), Family::memset);
  EXPECT_EQ(family("__amd_rocclr_copyBuffer"), Family::memcpy);
  EXPECT_EQ(family("_combined_routing_memset"), Family::routing);
  EXPECT_EQ(family("_copy_page_indices_kernel"), Family::index);
}

TEST(KernelNameTraps, PartsOfASplitAttention) {
  EXPECT_EQ(family("void flash::flash_fwd_splitkv_kernel<...>"), Family::attention_forward);
  EXPECT_EQ(family("void flash::flash_fwd_splitkv_combine_kernel<...>"), Family::attention_combine);
  EXPECT_EQ(family("kernel_unified_attention_3d"), Family::attention_forward);
  EXPECT_EQ(family("reduce_segments"), Family::attention_combine);
  EXPECT_EQ(family("vllm::paged_attention_v2_kernel<uint16_t, uint16_t, 128>"), Family::attention_forward);
  EXPECT_EQ(family("vllm::paged_attention_v2_reduce_kernel<uint16_t, 128>"), Family::attention_combine);
  EXPECT_EQ(family("cudnn::fusion::compute_dot_do_o"), Family::attention_backward);
}

TEST(KernelNameTraps, TheArchitectureIsOfTheCode) {
  EXPECT_EQ(kernel_facts("volta_sgemm_64x64_tt").architecture, "sm_70");
  EXPECT_EQ(kernel_facts("fmhaSm100aKernel_QkvE4m3OBfloat16H64Q128Kv128").architecture, "sm_100a");
  EXPECT_EQ(kernel_facts("Cijk_Ailk_Bjlk_SB_MT64x16x16_MI16x16x1_ISA90a_IU1").architecture, "gfx90a");
  EXPECT_EQ(kernel_facts("void thrust::THRUST_300001_SM_750_800_NS::kernel<int>(int)").architecture, "");
  EXPECT_EQ(
      kernel_facts(
          "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0")
          .readable,
      "cuDNN flash forward sm90 64x128x64");
}

TEST(KernelNameTraps, SixteenBitsOfEitherKind) {
  EXPECT_EQ(dtype("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64"), "16-bit");
  EXPECT_EQ(dtype("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous "
                  "namespace)::OpaqueType<2u>, "
                  "unsigned int, 4, 64, 64>(int)"),
            "16-bit");
  EXPECT_EQ(dtype("batched_transpose_32x32_half"), "16-bit");
}

TEST(KernelNameTraps, WhatANameDoesNotTellStaysUnknown) {
  for (const std::string_view name : {"unknown", "foo", "TaskGraph", "runtime::Task", "_fwd_kernel",
                                      "main_kernel", "???", "<<<>>>", "((", "::", "<", "kernel<"}) {
    const auto facts = kernel_facts(name);
    EXPECT_EQ(facts.family, Family::unknown) << name;
    EXPECT_EQ(facts.dtype, "") << name;
    EXPECT_EQ(facts.backend, "") << name;
    EXPECT_EQ(facts.tensor_cores, std::nullopt) << name;
  }
  for (const std::string_view name : {"Task", "Marker", ""}) {
    const auto facts = kernel_facts(name);
    EXPECT_EQ(facts.family, Family::unnamed) << name;
    EXPECT_EQ(facts.readable, name);
    EXPECT_EQ(facts.provider, "") << name;
    EXPECT_EQ(facts.tensor_cores, std::nullopt) << name;
  }
  const auto rocm = kernel_facts("attn_fwd");  // attention, and no word about whose
  EXPECT_EQ(rocm.family, Family::attention_forward);
  EXPECT_EQ(rocm.backend, "");
  EXPECT_EQ(rocm.provider, "");
}

TEST(KernelNameTraps, ReadableExamples) {
  EXPECT_EQ(readable("void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, "
                     "10, false, false>(int)"),
            "softmax_warp_forward bf16");
  EXPECT_EQ(
      readable(
          "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, "
          "c10::BFloat16, "
          "c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)"),
      "elementwise mul bf16");
  EXPECT_EQ(readable("ampere_sgemm_128x64_nn"), "cuBLAS gemm 128x64 f32 (CUDA cores)");
  EXPECT_EQ(readable("Memcpy DtoD (Device -> Device)"), "Memcpy DtoD (Device -> Device)");
}

}  // namespace
}  // namespace hunch::analysis
