// What PyTorch checks on the CPU, where there are flash and math alone, as data; and the orders of
// preference. In: nothing. Out: the rows. Holds: a row stands here only where it was established from a
// release.
#include <algorithm>
#include <array>

#include "hunch/sdpa/checks.h"
#include "hunch/sdpa/table.h"

namespace hunch::sdpa {
namespace {

using namespace checks;

constexpr int kAny = 1 << 20;
constexpr Backend F = Backend::flash, M = Backend::math;
constexpr std::string_view kSwitch =
    "allow it: sdpa_kernel() around the call, or torch.backends.cuda.enable_*_sdp(True)";

constexpr Constraint kRows[] = {
    {"enabled", F, 20400, 0, 0, 0, 0, 0, enabled, 0, 0, "flash must be enabled", kSwitch},
    {"nested", F, 20400, 0, 0, 0, 0, 0, not_nested, 0, 0, "no nested tensors", "padded tensors and a mask"},
    {"dropout", F, 20400, 0, 0, 0, 0, 0, no_dropout, 0, 0, "no dropout",
     "dropout_p=0 where nothing is trained"},
    {"mask_grad", F, 20400, 0, 0, 0, 0, 0, mask_no_grad, 0, 0, "a mask without a gradient",
     "detach() the mask"},
    {"mask_rank", F, 20400, 0, 0, 0, 0, 0, mask_rank, 0, 0, "a mask of 2 or 4 dimensions",
     "unsqueeze(0) it: a mask of 3 dimensions is one of [heads, length, kv_length]"},
    {"head_dim_equal", F, 20400, 0, 0, 0, 0, 0, same_head_dim, 0, 0, "one head_dim for query, key and value",
     "pad the shorter with zeros, and cut the result"},
    {"heads", F, 20400, 20900, 0, 0, 0, 0, same_heads, 0, 0, "as many heads for query as for key and value",
     "expand() key and value to all heads"},
    {"heads", F, 20900, 0, 0, 0, 0, 0, grouped_heads, 0, 0, "equal heads, or enable_gqa and a divisor",
     "enable_gqa=True for grouped heads, or expand() key and value to all heads"},
    {"lengths", F, 20400, 0, 0, 0, 0, 0, lengths_positive, 0, 0, "no length of 0",
     "leave the call out: the result is empty, or zero"},
    {"strides", F, 20400, 20800, 0, 0, 0, 0, last_stride_1, 0, 0,
     "last dimensions of stride 1, the mask's too", "contiguous() on that tensor"},
    {"strides", F, 20800, 0, 0, 0, 0, 0, qkv_last_stride_1, 0, 0, "last dimensions of stride 1",
     "contiguous() on that tensor"},
    {"enabled", M, 20400, 0, 0, 0, 0, 0, enabled, 0, 0, "math must be enabled", kSwitch},
};

constexpr Backend kCudnnFirst[] = {Backend::cudnn, Backend::flash, Backend::efficient, Backend::math};
constexpr Backend kFlashFirst[] = {Backend::flash, Backend::efficient, Backend::math, Backend::cudnn};
constexpr Backend kCpu[] = {Backend::flash, Backend::math};

constexpr std::string_view kNotPreferred = "TORCH_CUDNN_SDPA_DEPRIORITIZED";

constexpr Order kOrders[] = {
    {20400, 0, 0, 0, 0, "", "", kCpu, false, "the CPU has flash and math"},
    {20400, 20500, 50, kAny, 0, "", "", kCudnnFirst, false,
     "2.4 asks cudnn first, which wants TORCH_CUDNN_SDPA_ENABLED=1"},
    {20500, 20501, 80, kAny, 0, "", "", kFlashFirst, true,
     "2.5.0 put cudnn higher than 2.5.1 does; its order is not established"},
    {21000, 0, 90, 90, 91500, kNotPreferred, "", kCudnnFirst, false,
     "cudnn comes first on sm_90 and sm_100 with cuDNN above 9.15.0, unless "
     "TORCH_CUDNN_SDPA_DEPRIORITIZED=1"},
    {21000, 0, 100, 100, 91500, kNotPreferred, "", kCudnnFirst, false,
     "cudnn comes first on sm_90 and sm_100 with cuDNN above 9.15.0, unless "
     "TORCH_CUDNN_SDPA_DEPRIORITIZED=1"},
    {21100, 0, 103, 103, 91500, kNotPreferred, "", kCudnnFirst, false,
     "cudnn comes first on sm_90, sm_100 and sm_103 with cuDNN above 9.15.0, unless "
     "TORCH_CUDNN_SDPA_DEPRIORITIZED=1"},
    {21000, 21100, 103, 103, 91500, kNotPreferred, "", kFlashFirst, true,
     "whether cudnn comes first on sm_103 with cuDNN above 9.15.0 is not established for 2.10"},
    {20900, 20901, 90, 100, 0, "", "", kFlashFirst, true,
     "whether 2.9.0 puts cudnn first on sm_90 and sm_100 is not established"},
    {20500, 0, 50, kAny, 0, "", "", kFlashFirst, false, "cudnn comes last, after math"},
};

}  // namespace

std::span<const Constraint> cpu_constraints() { return kRows; }
std::span<const Order> orders() { return kOrders; }

bool applies(const Constraint& c, const Setup& setup) {
  if (setup.torch < c.since || (c.until != 0 && setup.torch >= c.until)) return false;
  if (setup.sm < c.sm_least || setup.sm > c.sm_most) return false;
  if (c.cudnn_least == 0 && c.cudnn_until == 0) return true;
  return setup.cudnn && *setup.cudnn >= c.cudnn_least && (c.cudnn_until == 0 || *setup.cudnn < c.cudnn_until);
}

}  // namespace hunch::sdpa
