// Everything around the products and attention: memory operations, generated kernels, softmax, norms,
// indexing, routing, quantization, copies, reductions, element-wise work. Part of the tables of table.h.
#include <array>

#include "hunch/analysis/names/table.h"

namespace hunch::analysis::names {
namespace {

using enum Family;
constexpr Part kRaw = Part::raw;
constexpr Part kFull = Part::full;
constexpr Part kName = Part::qualified;
constexpr Part kBase = Part::base;

// The profilers' own words; '.' is a blank. A kernel whose name only holds "copy" or "memset" is none.
constexpr auto kMemoryRows = std::to_array<Row>({
    {kRaw,
     "^memcpy.|=memcpy|^[cuda.memcpy|^[cuda.unified.memory.memcpy|^memory.copy|^memory_copy_|^"
     "zecommandlistappendmemorycopy|^hipmemcpy|^cudamemcpy",
     memcpy, ""},
    {kRaw,
     "=copyhosttodevice|=copydevicetohost|=copydevicetodevice|=copyhosttohost|^copydevicetodevice|^"
     "copyhosttodevice|^copydevicetohost",
     memcpy, ""},
    {kRaw, "^__amd_rocclr_copy|^__amd_rocclr_streamopswrite", memcpy, "copy by a kernel", "rocm"},
    {kRaw,
     "^memset.|=memset|^[cuda.memset|^memory.set|^zecommandlistappendmemoryfill|^hipmemset|^cudamemset|="
     "fillbuffer",
     memset, ""},
    {kRaw, "^__amd_rocclr_fill", memset, "memset by a kernel", "rocm"},
    // What AMD's tracer calls work that it has no kernel's name for: barriers, kernels of a graph.
    {kName, "=task|=marker", unnamed, ""},
});

constexpr auto kGeneratedRows = std::to_array<Row>({
    {kName, "^hunch:: flash|efficient|attention backward|bwd", attention_backward, ""},
    // On a GPU all multiply on Tensor Cores, f32 as three products in TF32.
    {kName, "^hunch::attention::sm combine", attention_combine, "flash combine", "hunch", "flash"},
    {kName, "^hunch::attention::sm flash_forward", attention_forward, "flash forward", "hunch", "flash",
     Units::tensor_cores},
    {kName, "^hunch::attention::sm flash_few_rows", attention_forward, "flash forward for few rows", "hunch",
     "flash", Units::tensor_cores},
    {kName, "^hunch::attention::sm efficient_forward", attention_forward, "efficient forward", "hunch",
     "efficient", Units::tensor_cores},
    {kName, "^hunch:: combine", attention_combine, ""},
    {kName, "^hunch:: flash_forward|flash_fwd|::flash", attention_forward, "flash forward", "hunch", "flash"},
    {kName, "^hunch:: efficient", attention_forward, "efficient forward", "hunch", "efficient"},
    {kName, "^hunch:: attention", attention_forward, "attention forward", "hunch"},
    {kName, "^hunch:: matmul|gemm", matmul, "matmul", "hunch"},
    {kName, "^hunch:: masked_fill", masked_fill, "masked_fill", "hunch"},
    {kName, "^hunch:: softmax", softmax, "softmax", "hunch"},
    {kName, "^hunch:: ::where", where, "where", "hunch"},
    {kName, "^hunch:: tril|triu|causal_mask", mask_build, "", "hunch"},
    {kName, "^hunch:: cast", cast, "cast", "hunch"},
    {kName, "^hunch:: ones|zeros|full|fill", fill, "", "hunch"},
    {kName, "^hunch:: ::all|::any|::sum|::max|::reduce", reduction, "", "hunch"},
    {kName, "^hunch:: copy|clone|contiguous|repeat|transpose", copy, "", "hunch"},
    {kName, "^hunch:: ::mul|::add|::sub|::div|::scale|is_neg_inf|logical|::neg|::exp", elementwise, "",
     "hunch"},
    {kName, "^hunch::", unknown, "", "hunch"},
    // PyTorch's ops on the CPU, as hunch's recordings name them: the op, and its type.
    {kName, "^aten:: flash_attention", attention_forward, "flash forward", "pytorch", "flash"},
    {kFull, "^aten::copy_< ,", cast, "cast", "pytorch"},
    {kName, "^aten::scalar_tensor", fill, "", "pytorch"},

    {kBase, "^triton_poi|^triton_for", elementwise, "Inductor pointwise", "inductor"},
    {kBase, "^triton_per|^triton_red|^triton_spl|^triton_split_scan|^triton_mix", reduction,
     "Inductor reduction", "inductor"},
    {kBase, "^triton_tem flex_attention|flex_decoding|attention|sdpa backward|bwd", attention_backward,
     "flex backward", "inductor", "flex"},
    {kBase, "^triton_tem flex_attention|flex_decoding|attention", attention_forward, "flex forward",
     "inductor", "flex"},
    {kBase, "^triton_tem conv", convolution, "Inductor convolution", "inductor"},
    {kBase, "^triton_tem ~mm|~addmm|~bmm|~baddbmm|mm|matmul|gemm", matmul, "Inductor gemm", "inductor"},
    {kBase, "^triton_mm|^triton_bmm|^triton_addmm", matmul, "Inductor gemm", "inductor"},
    {kBase, "^triton_unk|^triton_tem", unknown, "", "inductor"},
});

constexpr auto kGeneralRows = std::to_array<Row>({
    // Nothing stands behind these names.
    {kRaw, "=task|=marker|=unknown|=kernel|=unnamed|^cudagraph|=", unknown, ""},
    {kBase, "spin_kernel", unknown, "spin (sleep)"},
    {kName, "at::cuda::detail::|cuda_sleep|at::cuda::sleep", unknown, ""},

    // Routing to experts, before softmax and top-k, which it contains.
    {kBase,
     "topkgating|topk_softmax|topk_sigmoid|topk_gating|grouped_topk|biased_grouped|moe_fused_gate|fused_gate|"
     "moe_topk|moesoftmax|topk_forward|_topk_with_k",
     routing, ""},
    {kBase,
     "combined_routing|routing|sum_bitmatrix|bitmatrix|expert_map|expertmap|expert_count|expert_offset|"
     "expert_first|expert_token|buildexpert|expandinputrows|permute_tokens|unpermute|moe_permute",
     routing, ""},
    {kBase,
     "moe_align|moealign|moe_sum|moesum|moe_sort|moesort|count_and_sort_expert|shuffle_rows|ep_scatter|ep_"
     "gather|deepep_|preprocess_topk|finalizemoe|moe_finalize|compute_problem_sizes|get_group_gemm_starts|"
     "moe_dispatch|moe_combine|computestrides",
     routing, ""},
    {kName, "::moe::|moe::dev::|^moe:: finalize|routing|permute|sort|topk|align|sum|gate|activation|count",
     routing, ""},
    {kFull, "moesorting|moe_sorting|moesmooth|topksoftmax|topk_softmax|finalizekernel moe", routing, ""},
    {kBase, "~moe|~expert|~experts", routing, ""},

    // Rows of softmax and cross entropy.
    {kFull,
     "softmax_warp_forward|softmaxforward|softmax_warp_backward|softmaxbackward|host_softmax|softmax_fwd|"
     "softmaxblock",
     softmax, ""},
    {kBase, "softmax|soft_max !sampling|topk|cross_entropy", softmax, ""},
    {kFull, "softmax ck::|ck_tile::|cudnn|miopen", softmax, ""},
    {kBase, "nll_loss|cross_entropy|crossentropy|kl_div|mse_loss|~loss|bce_loss|ctc_loss|_jsd|smooth_l1",
     reduction, ""},

    // Norms; those with a residual add or a quantization stay norms.
    {kFull,
     "rmsnorm|layernorm|rms_norm|layer_norm|group_norm|groupnorm|batch_norm|batchnorm|instance_norm|"
     "instancenorm",
     norm, ""},
    {kBase,
     "rowwisemoments|gammabeta|cuapplylayernorm|cucomputegrad|cucomputegradinput|cucomputepartgrad|"
     "computefusedparams|^bn_|::bn_|bn_fw|bn_bw|l2norm_fwd|l2norm_bwd|l2norm|~norm !grad|foreach|vector|lp",
     norm, ""},

    // Position.
    {kFull, "rotary|fused_rope|rope_kernel|rope_neox|rope_norm|apply_rope|biasrope|ropequant", rotary, ""},
    {kBase, "~rope|ropekernel|mrope|^rope|cossin", rotary, ""},

    // Quantization both ways.
    {kBase,
     "dequant|quantiz|quantis|scaled_fp8|scaled_int8|per_token_group|_quant|quant_|~quant|fp8_cast|cast_to_"
     "fp8|_to_fp4|_to_nvfp4|fp4_|nvfp4|mxfp|kint8vector|absmax|kgetcolrow|kdequant|~quant8bit|block_scale_"
     "interleave|convert_to_fp8|scale_factor",
     quantize, ""},
    {kFull, "quantize|mxfp4_quant|cast_mxfp8|cast_fp8|transformer_engine:: quantize|cast_mxfp8|cast_fp8|amax",
     quantize, ""},
    {kBase, "repack|prepack|marlin_permute|gptq_shuffle|shuffle_kernel|gptq_marlin|awq_marlin", quantize,
     "weight repack"},

    // Random numbers and sampling.
    {kBase,
     "dropout|philox|~random|~rand|~bernoulli|~multinomial|~normal|~uniform|~exponential|distribution_|"
     "sampling|~sample|~sampler|gumbel|curand|randperm|~noise",
     random, ""},

    // State-space models: scans and their short convolution (found before).
    {kBase,
     "selective_scan|chunk_scan|chunk_state|state_passing|chunk_cumsum|ssd_|selective_state_update|mamba",
     reduction, "state-space scan"},
    {kBase,
     "linear_attn|delta_rule|chunk_fwd|chunk_bwd|recompute_w_u|solve_tril|wy_repr|chunk_local_cumsum|chunk_"
     "scaled_dot|fused_recurrent|~gla|gdn",
     attention_other, "linear attention"},

    // Joining, masks, indexing.
    {kBase, "catarray|~concat|concat_|~cat|concatenate|stack_kernel|concatkernel", concat, ""},
    {kBase,
     "triu_tril|~tril|~triu|tril_kernel|triu_kernel|mask_build|create_mask|apply_token_bitmask|fill_mask",
     mask_build, ""},
    {kBase, "masked_fill|maskedfill", masked_fill, "masked_fill"},
    {kBase, "~where|where_kernel", where, ""},
    {kBase,
     "^embedding_|embedding|indexselect|index_select|indexfunc|index_put|indexing_backward|gather|scatter|"
     "index_elementwise|index_kernel|~index|~indices|searchsorted|~bucketize|~take|~lookup|get_rows|index_"
     "copy|index_add|masked_select|nonzero|~select",
     index, ""},
    {kFull,
     "sort|topk|top_k|uniquebykey|unique_by_key|radixsort|radixfind|bitonic|merge_sort|mergesort|histogram|"
     "selectsweep|deviceselect|partition",
     index, ""},
    {kBase,
     "compute_grad_weight|sum_and_scatter|krn_partial|compute_num_of_partial|permute_pooled|recat|permute_"
     "indices|permute_2d|permute_1d|linearize_index|bounds_check|offsets_range|block_bucketize|jagged",
     index, ""},
    {kFull,
     "devicescan|devicecompact|scan_by_key|scaninit|tensor_kernel_scan|cumsum|cumprod|~cumsum|~scan|prefix_"
     "sum|reducebykey",
     reduction, ""},

    // Copies that change layout or type.
    {kBase,
     "nchwtonhwc|nhwctonchw|transpose|~permute|permute_kernel|nchw2nhwc|nhwc2nchw|pad_kernel|~pad|padding|"
     "roll_cuda|~roll|~flip|flip_kernel|repeat_kv|repeat_interleave|tensortransform|~clone|~contiguous",
     copy, ""},
    {kFull,
     "to_float|float_to|to_half|half_to|to_bf16|fp32_to|to_fp16|to_fp32|tofloat|fp8_to|to_fp8|tohalf|bf16_to|"
     "convert_unary|cpy_f32_f16|convert_fp|~cast|castkernel|unpack_bf16",
     cast, ""},
    {kBase, "~cast|casttensor|~convert|~astype", cast, ""},
    {kBase,
     "~copy|batchedcopy|copykernel|copy_kernel|~cpy|^cpy_|copy_device_to_device|to_dense|~slice|~expand",
     copy, ""},
    {kBase,
     "~fill|fillfunctor|fill_kernel|~zeros|~ones|~memset|~set|~zero|setzero|~arange|arange|~linspace|~eye|"
     "zero_kernel|initkernel",
     fill, ""},

    // Optimizers and other element-wise work, before reductions: "add" of two lists is no sum.
    {kFull, "multi_tensor_apply l2norm|norm|maxnorm|reduce", reduction, ""},
    {kFull, "multi_tensor_apply|multitensorapply|multi_tensor", elementwise, ""},
    {kBase, "~adam|adamw|~sgd|~lamb|adagrad|lion|optimizer|koptimizer|~lerp|fused_adam", elementwise, ""},
    {kBase,
     "act_and_mul|silu|gelu|relu|swiglu|geglu|swish|sigmoid|tanh|activation|~glu|bias_act|bias_add|add_bias|"
     "addbias|~residual|fused_bias|optensor|op1dtensor|op2dtensor|op3dtensor|op4dtensor|op5dtensor|"
     "subtensorop|tensorop",
     elementwise, ""},

    // Reductions.
    {kBase,
     "reduce|~sum|~mean|~max|~min|~argmax|~argmin|~norm|~dot|pool|~any|~all|~var|~std|welford|~prod|"
     "logsumexp|~amax|nrm2|asum",
     reduction, ""},
    {kFull, "devicereduce|kernel_reduce|reduce2d|reduction", reduction, ""},

    {kBase,
     "elementwise|~add|~mul|~sub|~div|~neg|~exp|~log|~sin|~cos|~sqrt|~rsqrt|~pow|~clamp|~abs|~scale|~axpy|"
     "pointwise|axpy_|scal_kernel|~compare|~eq|~ne|~lt|~gt|~le|~ge|k_bin_bcast|~bcast|upsample|interpolat|"
     "unary_op|binary_op",
     elementwise, ""},
    {kFull, "elementwise|deviceforkernel|for_each|transform::|parallel_for", elementwise, ""},
});

}  // namespace

std::span<const Row> memory_rows() { return kMemoryRows; }
std::span<const Row> generated_rows() { return kGeneratedRows; }
std::span<const Row> general_rows() { return kGeneralRows; }

}  // namespace hunch::analysis::names
