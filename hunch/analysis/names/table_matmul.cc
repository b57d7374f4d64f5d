// Matrix products, convolutions and the collectives between devices. Convolutions come first: many carry
// "gemm" in their names. Part of the tables of table.h.
#include <array>

#include "hunch/analysis/names/table.h"

namespace hunch::analysis::names {
namespace {

using enum Family;
constexpr Part kFull = Part::full;
constexpr Part kName = Part::qualified;
constexpr Part kBase = Part::base;
constexpr Units kTensor = Units::tensor_cores;
constexpr Units kPlain = Units::plain;

constexpr auto kCommunicationRows = std::to_array<Row>({
    {kBase, "^nccldevkernel|^ncclkernel|^ncclsym|^rccl|^nccldev|^nccl|^mscclkernel|^msccl", communication,
     ""},
    {kBase,
     "allreduce|all_reduce|allgather|all_gather|reducescatter|reduce_scatter|alltoall|all_to_all|all2all "
     "!norm_only",
     communication, ""},
    {kBase,
     "cross_device_reduce|multimem|oneshot|one_shot|twoshot|two_shot|lamport|quickreduce|quick_reduce|"
     "sendrecv|send_recv|peer_access",
     communication, ""},
    {kFull, "nvshmem|deep_ep::|mscclpp|userbuffers|userbuffer|symm_mem", communication, ""},
    {kBase, "~broadcast ~nccl|~kernel ~ring|~comm|~device", communication, ""},
});

constexpr auto kConvolutionRows = std::to_array<Row>({
    {kFull, "fprop !sdpa|fmha|_mha|norm_|layernorm|rmsnorm|softmax", convolution, "convolution forward"},
    {kFull, "dgrad !sdpa|fmha|_mha|norm_|layernorm|rmsnorm|softmax|dgrad_engine", convolution,
     "convolution data gradient"},
    {kFull, "wgrad !sdpa|fmha|_mha|norm_|layernorm|rmsnorm|softmax|wgrad_alg|reduce_wgrad", convolution,
     "convolution weight gradient"},
    {kFull,
     "implicitgemmconvolution|implicit_gemm|implicitgemm|implicit_convolve|explicit_convolve|precomputed_"
     "convolve|directconvolution",
     convolution, ""},
    {kBase, "^igemm_fwd", convolution, "convolution forward", "miopen", "", kTensor},
    {kBase, "^igemm_bwd", convolution, "convolution data gradient", "miopen", "", kTensor},
    {kBase, "^igemm_wrw", convolution, "convolution weight gradient", "miopen", "", kTensor},
    {kBase, "^igemm_", convolution, "implicit gemm", "miopen"},
    {kFull,
     "kernel_grouped_conv|grouped_conv|groupedconvolution|gridwise_conv|convhipimplicit|device_grouped_conv",
     convolution, "", "ck"},
    {kBase, "^miopensp3asm|^miopenconv|^miopengcn|^naive_conv|^gfx9_f3x2|conv1x1u|conv5x10|^miopen_conv",
     convolution, "", "miopen"},
    {kBase, "winograd|conv3x3", convolution, ""},
    {kBase, "scudnn|s1688cudnn|s884cudnn|h884cudnn|h1688cudnn|i8816cudnn|hcudnn|s16816cudnn|h16816cudnn",
     convolution, "", "cudnn"},
    {kName, "^cudnn::cnn::|cask_cudnn::|cask_cudnn_infer|cask_cudnn_train|cask_plugin_cudnn", convolution, "",
     "cudnn"},
    {kBase, "dgrad_engine|wgrad_alg|wgrad2d|fft2d_r2c|fft2d_c2r", convolution, "", "cudnn"},
    {kBase, "im2col|col2im|im2d2col|col2im2d|im3d2col|vol2col|col2vol", convolution, ""},
    {kBase,
     "conv1d|conv2d|conv3d|convolution|convolve|conv_depthwise|depthwise_conv|depthwiseconv|~conv|~conv1|~"
     "conv2|~conv3|conv_fwd|conv_bwd|conv_transpose",
     convolution, ""},
});

constexpr auto kMatmulRows = std::to_array<Row>({
    // What finishes a product that was split, or adds its epilogue.
    {kFull,
     "splitkreduce|splitk_reduce|split_k_reduce|reducesplitk|reduce_split_k|reducesplit|postgsu|gemm_reduce|"
     "gemm_finalize|finalize_matmul|matmul_finalize|streamkreduce|reduce_grouped",
     matmul_other, "split-K reduction"},
    {kFull, "^epilogue::impl::|cublaslt::epilogue", matmul_other, "cuBLAS epilogue", "cublas"},
    {kBase, "^cijk_ !_mt", matmul_other, "Tensile helper"},
    {kBase, "reduce_1block_kernel", matmul_other, "cuBLAS dot, last step", "cublas"},

    // cuBLAS.
    {kBase, "^nvjet splitk", matmul, "cuBLAS nvjet split-K", "cublas", "", kTensor},
    {kBase, "^nvjet", matmul, "cuBLAS nvjet", "cublas", "", kTensor},
    {kBase, "=dot_kernel", matmul, "cuBLAS dot", "cublas"},
    {kName, "internal::gemvx|gemvnsp|^gemv|gemv2|cublasgemv|gemvt", matmul, "cuBLAS gemv", "cublas"},
    {kBase, "gemmk1_kernel", matmul, "cuBLAS outer product", "cublas"},
    {kBase, "gemmsn_|gemm_kernel1x1_core|sgemm_largek|gemm_kernel2x2_core", matmul, "cuBLAS gemm", "cublas"},
    {kBase, "^ampere_|^volta_|^turing_|^maxwell_|^pascal_|^hopper_|^kepler_|^blackwell_ gemm", matmul,
     "cuBLAS gemm", "cublas"},
    {kBase, "xmma_gemm|xmma_bgemm cudnn", matmul, "cuDNN gemm", "cudnn"},
    {kBase, "xmma_gemm|xmma_bgemm", matmul, "cuBLAS gemm", "cublas"},

    // AMD.
    {kBase, "^cijk_|^custom_cijk_", matmul, "Tensile gemm", "tensile"},
    {kFull, "^ck::|^ck_tile::|<ck::|<ck_tile:: gemm|matmul|contraction", matmul, "CK gemm", "ck"},
    {kBase, "wvsplitk|wv_splitk|llmm1", matmul, "skinny gemm"},
    {kFull, "aiter:: fmoe|gemm|flatmm|moe_stage", matmul, ""},

    // Quantised weights.
    {kFull, "marlin !repack|preprocess|permute", matmul, "Marlin gemm", "marlin", "", kTensor},
    {kFull, "machete !prepack|repack", matmul, "Machete gemm", "vllm", "", kTensor},
    {kBase, "kgemm_4bit|gemv_4bit|gemm_4bit", matmul, "4-bit gemm", "bitsandbytes"},
    {kBase, "mul_mat_q|mul_mat_vec|mul_mat_f|mul_mat_id", matmul, "", "ggml"},
    {kBase, "mul_mat|mulmat !reduce", matmul, ""},

    // Experts, adapters, and everything else that calls itself a product.
    {kBase, "^bmm_ sm1", matmul, "TRT-LLM batched gemm", "tensorrt-llm", "", kTensor},
    {kBase, "^gemm_ sm1", matmul, "TRT-LLM gemm", "tensorrt-llm", "", kTensor},
    {kBase,
     "matmul_ogs|moe_gemm|fused_moe_kernel|fused_moe_gemm|moe_mm|group_gemm|grouped_gemm|groupedgemm|grouped_"
     "mm|fmoe|ck_moe|moegemm|moe_wna16|moe_q|fused_moe_wna16",
     matmul, "MoE gemm"},
    {kBase, "^triton_tem|^triton_mm", matmul, ""},
    {kBase, "bgmv|sgmv|lora_shrink|lora_expand|lora_a|lora_b|sgemm_lora|qkv_lora|~lora", matmul, "LoRA gemm"},
    {kFull, "^cutlass|cutlass::device_kernel|cutlass_kernel simt", matmul, "CUTLASS gemm", "", "", kPlain},
    {kFull, "^cutlass|cutlass::device_kernel|cutlass_kernel gemm|scaled_mm|matmul|cutlass_3x|cutlass_2x|_mm",
     matmul, "CUTLASS gemm"},
    {kFull, "deep_gemm:: !transpose|layout|clean|metadata|mqa_logits", matmul, "DeepGEMM gemm"},
    {kFull, "tinygemm|tiny_gemm", matmul, "tinygemm"},
    {kBase,
     "gemm|gemv|matmul|~mm|~bmm|~addmm|scaled_mm|_mm_kernel|~linear|w8a8_block|~gemm "
     "!quantize|dequantize|repack|prepack|permute|transpose|relu_and|softmax|norm|index|routing|schedule|"
     "metadata|arguments|args|problem|stride|pointers|offset",
     matmul, ""},
});

}  // namespace

std::span<const Row> communication_rows() { return kCommunicationRows; }
std::span<const Row> convolution_rows() { return kConvolutionRows; }
std::span<const Row> matmul_rows() { return kMatmulRows; }

}  // namespace hunch::analysis::names
