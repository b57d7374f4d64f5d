// How rows are searched, and the table of providers: prefixes and namespaces that belong to one project.
#include "hunch/analysis/names/table.h"

#include <array>

namespace hunch::analysis::names {
namespace {

struct Provider {
  Part part;
  std::string_view pattern;
  std::string_view provider;
};

constexpr Part kRaw = Part::raw;
constexpr Part kFull = Part::full;
constexpr Part kName = Part::qualified;
constexpr Part kBase = Part::base;

constexpr auto kProviders = std::to_array<Provider>({
    {kName, "^hunch::", "hunch"},
    {kName, "^triton_poi|^triton_per|^triton_red|^triton_tem|^triton_for|^triton_spl|^triton_unk|^triton_mm",
     "inductor"},
    {kName, "^pytorch_flash::", "pytorch"},
    {kRaw, "pytorchmemeffattention", "pytorch"},
    {kFull, "fbgemm_gpu::|^fbgemm", "fbgemm"},
    {kName, "^(anonymous.namespace)::softmax_warp|^(anonymous.namespace)::elementwise_kernel_with_index",
     "pytorch"},
    {kName, "^aten::", "pytorch"},
    {kName, "^at::|^at_cuda_detail::|^caffe2::|^c10::|^torch::", "pytorch"},
    {kFull, "::at::native::|<at::native::", "pytorch"},
    {kFull, "cutlass__5x_cudnn|cutlass_cudnn|cudnn", "cudnn"},
    {kName, "^flash::|^flash_fwd|^flash_bwd", "flash-attn"},
    {kFull, "flash::flashattn|flash_attn|flash_attncute|<flash::", "flash-attn"},
    {kName, "^flashinfer::", "flashinfer"},
    {kFull, "flashinfer::", "flashinfer"},
    {kFull,
     "^nvjet|_cublas$|cublaslt::|cublas|internal::gemvx|gemvnsp|gemv2|^gemv|gemmk1_kernel|gemmsn_|"
     "splitkreduce_kernel",
     "cublas"},
    {kBase, "^ampere_|^volta_|^turing_|^maxwell_|^pascal_|^hopper_ gemm", "cublas"},
    {kName, "^tensorrt_llm::|^kernels::mha|^moe::dev::", "tensorrt-llm"},
    {kBase, "^fmhasm|^bmm_|^gemm_ !_kernel sm1", "tensorrt-llm"},
    {kBase, "^fmha_v2_|^mmha_|masked_multihead_attention", "tensorrt-llm"},
    {kFull, "^vllm::|machete::", "vllm"},
    {kFull, "^sglang::|^sgl_|sgl_kernel|^sgl::", "sglang"},
    {kFull, "^aiter::|^aiter_", "aiter"},
    {kFull, "^ck_tile::|^ck::|<ck::|<ck_tile::", "ck"},
    {kBase, "^cijk_|^custom_cijk_", "tensile"},
    {kBase,
     "^igemm_|^miopen|^batched_transpose_|^subtensorop|^im2d2col|^naive_conv|^mlopooling|^optensor|^"
     "op1dtensor|^op2dtensor|^op3dtensor|^op4dtensor",
     "miopen"},
    {kBase, "^nccl|^rccl|^msccl", "nccl"},
    {kFull, "nvshmem", "nvshmem"},
    {kName, "^deep_ep::", "deepep"},
    {kFull, "deep_gemm::|^deep_gemm", "deepgemm"},
    {kName, "^marlin|^marlin_moe|::marlin|^awq_marlin|^gptq_marlin", "marlin"},
    {kName, "^transformer_engine::", "transformer-engine"},
    {kFull, "transformer_engine::", "transformer-engine"},
    {kName, "^bitsandbytes", "bitsandbytes"},
    {kBase,
     "^kquantizeblockwise|^kdequantizeblockwise|^kgemm_4bit|^kint8vectorquant|^koptimizer|^"
     "kpreconditionoptimizer|^kdequant_mm|^kgetcolrowstats|^kspmm_coo|^kdoublerowcolquant",
     "bitsandbytes"},
    {kName, "^cub::|::cub::", "cub"},
    {kName, "^thrust::", "thrust"},
    {kName, "^cutlass", "cutlass"},
    {kBase, "^cutlass", "cutlass"},
    {kBase, "^liger_|_liger_", "liger"},
    {kFull, "^apex::|^fused_layer_norm|^cuapply|^cucompute", "apex"},
    {kBase, "^__amd_rocclr", "rocm"},
    {kBase, "^kernel_unified_attention|=reduce_segments", "vllm"},
});

}  // namespace

const Row* find_row(std::span<const Row> rows, const ParsedName& name) {
  for (const Row& row : rows) {
    if (matches(row.pattern, row.part, name)) return &row;
  }
  return nullptr;
}

std::string_view provider_of(const ParsedName& name) {
  for (const Provider& row : kProviders) {
    if (matches(row.pattern, row.part, name)) return row.provider;
  }
  return {};
}

}  // namespace hunch::analysis::names
