// Attention kernels, forward, backward and the parts that combine splits; before them the kernels around
// attention that carry its words and do something else. Part of the tables of table.h.
#include <array>

#include "hunch/analysis/names/table.h"

namespace hunch::analysis::names {
namespace {

using enum Family;
constexpr Part kFull = Part::full;
constexpr Part kName = Part::qualified;
constexpr Part kBase = Part::base;
constexpr Units kTensor = Units::tensor_cores;

// Copying into a paged cache, index lists for it, quantizing for it.
constexpr auto kCacheRows = std::to_array<Row>({
    {kBase, "kv_indices|kvindices|page_indices|page_table|kv_indptr|req_to_token|slot_mapping|block_table",
     index, ""},
    {kBase,
     "reshape_and_cache|concat_and_cache|store_kvcache|store_kv|storekv|store_cache|set_kv_buffer|set_mla_kv",
     kv_cache, "KV cache write"},
    {kBase,
     "appendpaged|append_paged|write_kv|kv_cache_write|update_kv|updatekvcache|fill_kv|kv_cache_scatter|"
     "fused_kv",
     kv_cache, "KV cache write"},
    {kBase,
     "copy_blocks|swap_blocks|gather_cache|gather_and_dequant_cache|cp_gather_indexer|get_mla_kv|kv_cache_"
     "copy|copy_kv|transfer_kv|kvcache_transfer|convert_fp8_kernel",
     kv_cache, "KV cache copy"},
    {kBase, "kv_cache|kvcache !attention|attn|fmha|prefill|decode|mha|mla", kv_cache, ""},
    {kBase,
     "sage_quant|quantint8kernel|quant_per_block|quant_per_warp|quantint|transposepadpermute|meanscalekernel",
     quantize, ""},
    {kBase, "attn_softmax|attention_softmax|masked_softmax|softmax_attn", softmax, ""},
    {kBase, "attention_mask|attn_mask|causal_mask|build_mask|packbits", mask_build, ""},
    {kBase, "qk_norm|q_norm|k_norm !gemm|attention|attn", norm, ""},
});

constexpr auto kAttentionRows = std::to_array<Row>({
    // Adding up the parts of a forward that was split over its keys.
    {kBase, "flash_attn_combine_results", attention_combine, "flash combine", "ggml", "flash"},
    {kFull,
     "flash_fwd_splitkv_combine|flash_fwd_mla_combine|flash_attn_combine|flashattnfwdcombine|flash_fwd_"
     "combine|flashattentionforwardcombine",
     attention_combine, "flash combine", "", "flash"},
    {kBase, "^reduce_segments", attention_combine, "attention combine"},
    {kBase, "paged_attention|pagedattention|paged_attn|^pa_ reduce|combine", attention_combine,
     "paged attention combine", "", "paged"},
    {kBase, "mergestate|merge_state|merge_attn_state|merge_attention|mergestates", attention_combine,
     "attention combine"},
    {kFull, "fmhafwdsplitkvcombine|fmha_fwd_splitkv_combine", attention_combine, "fmha combine", "ck", "ck"},
    {kBase, "fmha reduction|reduce|combine !bwd|backward|cutlassb|head", attention_combine, "fmha combine"},
    {kBase, "mla|attn|attention|decode reduce|combine|merge !bwd|backward|allreduce|all_reduce|gemm|norm",
     attention_combine, "attention combine"},
    {kBase, "^_splitk_reduce|fwd_kernel_stage2|decode_stage2|attn_stage2|decode_softmax_reducev",
     attention_combine, "attention combine"},

    // cuDNN.
    {kFull, "cudnn::fusion::compute_dot_do_o", attention_backward, "cuDNN backward, dot(dO, O)", "cudnn",
     "cudnn"},
    {kFull, "cudnn::fusion::convert_dq", attention_backward, "cuDNN backward, dQ to 16 bits", "cudnn",
     "cudnn"},
    {kFull, "cudnn::fusion::fmha_reduce_head|cudnn::fusion::reduce_head", attention_backward,
     "cuDNN backward, sum over heads", "cudnn", "cudnn"},
    {kFull, "cudnn::fusion::|cudnn_generated sdpa|mha|dq|flash bprop|bwd|backward|dq|do_o",
     attention_backward, "cuDNN flash backward", "cudnn", "cudnn", kTensor},
    {kFull, "cudnn sdpa|fmha|_mha|flash_fprop fprop|fwd|forward", attention_forward, "cuDNN flash forward",
     "cudnn", "cudnn", kTensor},
    {kFull, "cudnn sdpa|fmha|_mha !norm", attention_other, "cuDNN attention", "cudnn", "cudnn"},

    // FlashAttention 2, 3 and 4, FlashMLA, and PyTorch's copy of the second.
    {kBase, "flash_bwd_dot_do_o", attention_backward, "flash backward, dot(dO, O)", "", "flash"},
    {kBase, "flash_bwd_convert_dq|flash_bwd_convert_dkv|flash_bwd_clear", attention_backward,
     "flash backward, convert dQ", "", "flash"},
    {kFull,
     "flashattnbwdpreprocess|flashattnbwdpostprocess|flashattentionbackwardpreprocess|"
     "flashattentionbackwardpostprocess|flash_bwd_preprocess|flash_bwd_postprocess|bwdpreprocess|"
     "bwdpostprocess flash",
     attention_backward, "flash backward, pre or post", "", "flash"},
    {kFull, "flash_bwd|flashattnbwd|flashattentionbackward|flash_attn_bwd|flash_attention_bwd|flashbwd",
     attention_backward, "flash backward", "", "flash", kTensor},
    {kFull, "flash_fwd_splitkv_mla|flash_fwd_mla|flashmla|flash_mla !metadata", attention_forward,
     "flash MLA forward", "", "flash", kTensor},
    {kFull, "flash_fwd_splitkv", attention_forward, "flash forward, split over keys", "", "flash", kTensor},
    {kFull,
     "flash_fwd|flashattnfwd|flashattentionforward|flash_attn_fwd|flash_attention_fwd|flashfwd|fmha_v2_flash_"
     "attention",
     attention_forward, "flash forward", "", "flash", kTensor},
    {kBase,
     "flash_attn_ext|flash_attn_mma|flash_attn_wmma|flash_attn_tile|flash_attn_vec !combine|mask|fixup",
     attention_forward, "flash forward", "ggml", "flash"},
    {kBase, "flash_attn_stream_k_fixup|flash_attn_mask", attention_other, "", "ggml", "flash"},
    {kBase, "prepare_varlen_num_blocks|mla_metadata|flash_attn_mask_to", attention_other,
     "attention scheduling"},

    // Memory-efficient attention of xFormers and PyTorch.
    {kBase, "^fmha_cutlassb", attention_backward, "efficient backward", "", "efficient"},
    {kBase, "^fmha_cutlassf", attention_forward, "efficient forward", "", "efficient"},
    {kFull, "attention_kernel_backward|attentionbackwardkernel", attention_backward, "efficient backward", "",
     "efficient"},
    {kFull,
     "attention_kernel_batched|pytorchmemeffattention|attentionkernel< cutlass|memeff|attention_kernel",
     attention_forward, "efficient forward", "", "efficient"},

    // Serving.
    {kBase, "batchprefillwith|singleprefillwith|prefillwithkvcache|batchprefill|singleprefill",
     attention_forward, "flashinfer prefill", "flashinfer", "flashinfer", kTensor},
    {kBase, "batchdecodewith|singledecodewith|batchdecode|singledecode", attention_forward,
     "flashinfer decode", "flashinfer", "flashinfer"},
    {kBase, "batchmlapagedattention|batchpodwith|podwithkvcache|batchattention|persistentattention",
     attention_forward, "flashinfer attention", "flashinfer", "flashinfer"},
    {kFull,
     "flashinfer:: attention|attn|prefill|decode|mla fmha|fwd|forward|kernel "
     "!norm|rope|rotary|sampling|append|merge",
     attention_forward, "flashinfer attention", "flashinfer", "flashinfer"},
    {kBase, "^fmhasm", attention_forward, "TRT-LLM fmha", "tensorrt-llm", "trtllm", kTensor},
    {kBase, "masked_multihead_attention|mmha|xqa|kernel_mha|^mha_kernel", attention_forward,
     "TRT-LLM decode attention", "tensorrt-llm", "trtllm"},
    {kBase,
     "paged_attention|pagedattention|paged_attn|single_query_cached_kv_attention|^pa_kernel|^pa_decode|^pa_"
     "fwd|^_paged",
     attention_forward, "paged attention", "", "paged"},
    {kName, "^aiter::pa_|^aiter::asm_pa|pa_fwd|pa_decode|^aiter::mla_|mla_decode|^aiter::ps_",
     attention_forward, "paged attention", "aiter", "paged"},
    {kBase, "kernel_unified_attention", attention_forward, "unified attention", "vllm"},
    {kBase, "qk_int8_sv|qk_int4_sv|qk_int_sv", attention_forward, "sage forward", "sageattention", "sage",
     kTensor},
    {kBase, "sage bwd|backward", attention_backward, "sage backward", "sageattention", "sage"},
    {kBase, "^sage|^_sage fwd|forward|attn|attention", attention_forward, "sage forward", "sageattention",
     "sage"},
    {kBase, "flex_attention|flex_decoding|flexattention bwd|backward", attention_backward, "flex backward",
     "", "flex"},
    {kBase, "flex_attention|flex_decoding|flexattention", attention_forward, "flex forward", "", "flex"},

    // AMD: Composable Kernel and AITER's assembly.
    {kFull, "fmhabwd|fmha_bwd|fmha_v3_bwd|bwd_hd", attention_backward, "fmha backward"},
    {kName, "^aiter::fmha|aiter::mha", attention_forward, "fmha forward", "aiter", "aiter", kTensor},
    {kFull, "fmhafwd|fmha_fwd|unifiedattention ck_tile|^fmha_fwd|^ck", attention_forward, "fmha forward",
     "ck", "ck", kTensor},
    {kFull, "fmhafwd|fmha_fwd|fmha_v3_fwd|fmha_forward", attention_forward, "fmha forward"},

    // Triton and others, by what they call themselves.
    {kBase,
     "linear_attn|linear_attention|lightning_attn|lightning_attention|delta_rule|gated_delta|fused_recurrent|"
     "chunk_gla|retention|rwkv|wkv6|wkv7",
     attention_other, "linear attention"},
    {kBase, "attn|attention|mha|mla bwd|backward|dkdv|dk_dv|_dq", attention_backward, "attention backward"},
    {kBase,
     "=bwd_preprocess|=bwd_preprocess_varlen|bwd_kernel_dkdv|bwd_kernel_dk_dv|bwd_kernel_dq|bwd_kernel_fuse|"
     "bwd_dkdv|bwd_dkdvdq|bwd_dq|attn_bwd",
     attention_backward, "attention backward"},
    {kBase,
     "fwd_grouped_kernel_stage1|fwd_kernel_stage1|flash_decode_stage1|decode_att|decode_grouped_att|_fwd_"
     "kernel_splitk|=_fwd_kernel_ep",
     attention_forward, "attention forward, split over keys"},
    {kBase,
     "attn|attention|mha|mla|sdpa ~fwd|~forward|prefill|decode|extend|context|~fprop|inference "
     "!norm|rope|rotary|gemm|quant",
     attention_forward, "attention forward"},
    {kBase,
     "~attn|~attention|~fmha|~mha|~sdpa|attentionkernel "
     "!norm|rope|rotary|gemm|matmul|quant|mask|bias|all_reduce|allreduce|copy|gather|topk|select|index",
     attention_other, "attention"},
});

}  // namespace

std::span<const Row> cache_rows() { return kCacheRows; }
std::span<const Row> attention_rows() { return kAttentionRows; }

}  // namespace hunch::analysis::names
