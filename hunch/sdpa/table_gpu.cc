// What PyTorch checks on NVIDIA's GPUs, as data: since which version, until which, on which architectures.
// In: nothing. Out: the rows. Holds: a row stands here only where it was established from a release; table.h
// says what the columns are.
#include "hunch/sdpa/checks.h"
#include "hunch/sdpa/table.h"

namespace hunch::sdpa {
namespace {

using namespace checks;

constexpr int kAny = 1 << 20;  // no upper bound of architectures
constexpr Backend F = Backend::flash, E = Backend::efficient, M = Backend::math, C = Backend::cudnn;

constexpr std::string_view kSwitch =
    "allow it: sdpa_kernel() around the call, or torch.backends.cuda.enable_*_sdp(True)";
constexpr std::string_view kContiguous =
    "contiguous() on that tensor, or a layout whose last dimension is dense";
constexpr std::string_view kZero = "leave the call out: the result is empty, or zero";
constexpr std::string_view kHeads =
    "enable_gqa=True for grouped heads, or expand() key and value to all heads";
constexpr std::string_view kExpand = "expand() or repeat_interleave() key and value to all heads";
constexpr std::string_view kCast = "cast query, key and value, or run under autocast";

constexpr Constraint kRows[] = {
    // id, backend, since, until, sm, sm, cudnn, cudnn, check, limit, limit2, words, change
    {"enabled", F, 20400, 0, 50, kAny, 0, 0, enabled, 0, 0, "flash must be enabled", kSwitch},
    {"architecture", F, 20400, 20700, 50, kAny, 0, 0, architecture, 80, 90, "sm_80 to sm_90",
     "a GPU from Ampere on"},
    {"architecture", F, 20700, 20800, 50, kAny, 0, 0, architecture, 80, 120, "sm_80 to sm_120",
     "a GPU from Ampere on"},
    {"architecture", F, 20800, 0, 50, kAny, 0, 0, architecture, 80, 121, "sm_80 to sm_121",
     "a GPU from Ampere on"},
    {"dtype", F, 20400, 0, 80, kAny, 0, 0, dtype_16_bit, 0, 0, "f16 or bf16", kCast},
    {"dtype", F, 20400, 0, 50, 79, 0, 0, dtype_f16, 0, 0, "f16 below sm_80", kCast},
    {"mask", F, 20400, 0, 50, kAny, 0, 0, no_mask, 0, 0, "no mask tensor",
     "is_causal=True in place of a causal mask; padding by nested tensors or by cutting"},
    {"head_dim_equal", F, 20400, 0, 50, kAny, 0, 0, same_head_dim, 0, 0,
     "one head_dim for query, key and value", "pad the shorter with zeros, and cut the result"},
    {"head_dim", F, 20400, 0, 50, kAny, 0, 0, head_dim_most, 256, 0, "head_dim up to 256",
     "more heads, each smaller"},
    {"head_dim_backward", F, 20400, 0, 86, 89, 0, 0, head_dim_backward, 192, 224,
     "with gradients head_dim up to 192, or above 224 without dropout, on sm_86 to sm_89",
     "torch.no_grad() for inference; a smaller head_dim, or one above 224 without dropout"},
    {"head_dim_backward", F, 20700, 0, 120, 121, 0, 0, head_dim_backward, 192, 224,
     "with gradients head_dim up to 192, or above 224 without dropout, on sm_120 and sm_121",
     "torch.no_grad() for inference; a smaller head_dim, or one above 224 without dropout"},
    {"causal_lengths", F, 20400, 0, 50, kAny, 0, 0, causal_square, 0, 0, "equal lengths where it is causal",
     "torch.nn.attention.bias.causal_lower_right or causal_upper_left, which say where the diagonal lies"},
    {"heads", F, 20400, 20500, 50, kAny, 0, 0, same_heads, 0, 0,
     "as many heads for query as for key and value", kExpand},
    {"heads", F, 20500, 0, 50, kAny, 0, 0, grouped_heads, 0, 0, "equal heads, or enable_gqa and a divisor",
     kHeads},
    {"lengths", F, 20400, 0, 50, kAny, 0, 0, lengths_positive, 0, 0, "no length of 0", kZero},
    {"strides", F, 20400, 0, 50, kAny, 0, 0, last_stride_1_but_single, 0, 0, "last dimensions of stride 1",
     kContiguous},

    {"enabled", E, 20400, 0, 50, kAny, 0, 0, enabled, 0, 0, "efficient must be enabled", kSwitch},
    {"architecture", E, 20400, 20700, 0, kAny, 0, 0, architecture, 50, 90, "sm_50 to sm_90", "another GPU"},
    {"architecture", E, 20700, 20800, 0, kAny, 0, 0, architecture, 50, 120, "sm_50 to sm_120", "another GPU"},
    {"architecture", E, 20800, 0, 0, kAny, 0, 0, architecture, 50, 121, "sm_50 to sm_121", "another GPU"},
    {"dtype", E, 20400, 0, 80, kAny, 0, 0, dtype_to_f32, 0, 0, "f16, bf16 or f32", kCast},
    {"dtype", E, 20400, 0, 50, 79, 0, 0, dtype_f16_f32, 0, 0, "f16 or f32 below sm_80", kCast},
    {"head_dim", E, 20400, 0, 80, kAny, 0, 0, head_dim_aligned, 8, 4,
     "head_dim a multiple of 8 in 16 bits, of 4 in f32", "pad with zeros to that multiple"},
    {"head_dim", E, 20400, 0, 70, 79, 0, 0, head_dim_aligned, 8, 1, "head_dim a multiple of 8 in 16 bits",
     "pad with zeros to that multiple"},
    {"head_dim", E, 20400, 0, 50, 69, 0, 0, head_dim_aligned, 1, 1, "a head_dim above 0",
     "a head_dim above 0"},
    {"lengths", E, 20400, 0, 50, kAny, 0, 0, lengths_positive, 0, 0, "no length of 0", kZero},
    {"strides", E, 20400, 0, 50, kAny, 0, 0, last_stride_1, 0, 0,
     "last dimensions of stride 1, the mask's too", kContiguous},
    {"heads", E, 20400, 0, 50, kAny, 0, 0, same_heads, 0, 0,
     "as many heads for query as for key and value: enable_gqa is not for it", kExpand},

    {"enabled", M, 20400, 0, 0, kAny, 0, 0, enabled, 0, 0, "math must be enabled", kSwitch},

    {"variable", C, 20400, 20500, 50, kAny, 0, 0, variable_set, 0, 0,
     "TORCH_CUDNN_SDPA_ENABLED=1 in the environment, by which PyTorch 2.4 tries it", "a newer PyTorch"},
    {"enabled", C, 20400, 0, 50, kAny, 0, 0, enabled, 0, 0, "cudnn must be enabled", kSwitch},
    {"architecture", C, 20500, 20700, 50, kAny, 0, 0, architecture, 80, 90, "sm_80 to sm_90",
     "a GPU from Ampere on"},
    {"architecture", C, 20700, 20800, 50, kAny, 0, 0, architecture, 80, 120, "sm_80 to sm_120",
     "a GPU from Ampere on"},
    {"architecture", C, 20800, 0, 50, kAny, 0, 0, architecture, 80, 121, "sm_80 to sm_121",
     "a GPU from Ampere on"},
    {"cudnn", C, 20500, 0, 50, kAny, 1, 90000, never, 0, 0, "cuDNN 9 or newer", "a PyTorch with cuDNN 9"},
    {"dtype", C, 20500, 0, 80, kAny, 0, 0, dtype_16_bit, 0, 0, "f16 or bf16", kCast},
    {"dtype", C, 20500, 0, 50, 79, 0, 0, dtype_f16, 0, 0, "f16 below sm_80", kCast},
    {"deterministic", C, 20500, 0, 50, kAny, 0, 0, not_deterministic, 0, 0,
     "no deterministic algorithms asked for: it counts as not deterministic",
     "torch.use_deterministic_algorithms(False), or warn_only=True"},
    {"mask_grad", C, 20500, 0, 50, kAny, 0, 0, mask_no_grad, 0, 0, "a mask without a gradient",
     "detach() the mask"},
    {"mask_rank", C, 20500, 0, 50, kAny, 0, 0, mask_rank, 0, 0, "a mask of 2 or 4 dimensions",
     "unsqueeze(0) it: a mask of 3 dimensions is one of [heads, length, kv_length]"},
    {"lengths", C, 20500, 0, 50, kAny, 0, 0, lengths_positive, 0, 0, "no length of 0", kZero},
    {"strides", C, 20500, 0, 50, kAny, 0, 0, last_stride_1_but_single, 0, 0,
     "last dimensions of stride 1, the mask's too", kContiguous},
    {"heads", C, 20800, 0, 50, kAny, 0, 0, grouped_heads, 0, 0, "equal heads, or enable_gqa and a divisor",
     kHeads},
    {"dropout", C, 20900, 0, 50, kAny, 91101, 91400, no_dropout, 0, 0, "no dropout with cuDNN 9.11 to 9.13",
     "cuDNN 9.14 or newer, or no dropout"},
    {"head_dim", C, 20500, 20800, 50, kAny, 0, 0, head_dim_most, 128, 0, "head_dim up to 128",
     "more heads, each smaller"},
    {"head_dim", C, 20800, 0, 50, 89, 0, 0, head_dim_most, 128, 0, "head_dim up to 128, but on sm_90",
     "more heads, each smaller; sm_90 with cuDNN 9.10"},
    {"head_dim", C, 20800, 0, 90, 90, 1, 91000, head_dim_most, 128, 0, "head_dim up to 128 before cuDNN 9.10",
     "cuDNN 9.10 or newer"},
    {"head_dim", C, 20800, 0, 90, 90, 91000, 0, head_dim_most, 256, 0, "head_dim up to 256",
     "more heads, each smaller"},
    {"head_dim", C, 20800, 0, 91, kAny, 0, 0, head_dim_most, 128, 0, "head_dim up to 128, but on sm_90",
     "more heads, each smaller"},
    {"length_1", C, 20600, 20900, 50, kAny, 0, 0, lengths_not_1, 0, 0, "no length of 1",
     "flash or efficient"},
    {"length_1", C, 20900, 0, 50, kAny, 0, 0, kv_length_not_1, 0, 0, "a kv_length other than 1",
     "flash or efficient"},
    {"length_1", C, 20900, 0, 50, kAny, 0, 0, length_1_no_dropout, 0, 0, "no dropout for a length of 1",
     "no dropout, or flash"},
    {"head_dim_multiple", C, 20500, 0, 50, kAny, 0, 0, head_dim_multiple_or_0, 8, 0,
     "head_dim a multiple of 8", "pad with zeros to a multiple of 8"},
};

}  // namespace

std::span<const Constraint> cuda_constraints() { return kRows; }

}  // namespace hunch::sdpa
