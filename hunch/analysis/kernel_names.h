// What a kernel's name says. A classifier over names alone: it never guesses; what the name does not tell
// stays empty or unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hunch::analysis {

enum class Family {
  attention_forward,
  attention_backward,
  attention_combine,
  attention_other,
  kv_cache,
  matmul,
  matmul_other,
  convolution,
  softmax,
  masked_fill,
  where,
  mask_build,
  elementwise,
  copy,
  cast,
  concat,
  fill,
  memcpy,
  memset,
  reduction,
  norm,
  rotary,
  index,
  random,
  quantize,
  routing,
  communication,
  unnamed,  // the profiler had no kernel's name for it
  unknown,
};
std::string_view name_of(Family family);
std::optional<Family> parse_family(std::string_view name);

struct KernelFacts {
  Family family = Family::unknown;
  std::string readable;  // short name for people: "flash forward 128x128x64 bf16"
  std::string provider;  // "pytorch", "cublas", "cudnn", "cutlass", "flash-attn", "triton", "hunch", ...;
                         // empty: not told
  std::string backend;   // attention only: "flash", "efficient", "cudnn", ...; empty: not told
  std::string dtype;     // "bf16", "f16", "f32", "fp8", "16-bit" ...; empty: not told
  std::optional<bool> tensor_cores;  // nothing: the name does not tell
  std::string tile;                  // "128x256x64"; empty: not told
  std::string architecture;          // built for: "sm_80"; empty: not told
  std::optional<int> stages;
};

KernelFacts kernel_facts(std::string_view name);

}  // namespace hunch::analysis
