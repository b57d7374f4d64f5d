// What the CUDA attention kernels take, and what a launch of one looks like from the host: the seam between
// the host files, which speak of tensors, and the kernels of every backend.
// In:  one attention call as pointers to device memory, sizes and strides in elements. Plain types only, so
// that host code without CUDA headers can fill it in.
// Holds: the last dimension of q, k, v and out has stride 1; broadcast dimensions of the mask have stride 0.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace hunch::attention::sm80 {

enum class ElementType : int { f16, bf16, f32 };
enum class MaskType : int { none, boolean, f32, f16, bf16 };

struct AttentionParams {
  const void* q;  // [batch, heads, length, head_dim]
  const void* k;  // [batch, kv_heads, kv_length, head_dim], kv_heads divides heads
  const void* v;  // [batch, kv_heads, kv_length, value_dim]
  void* out;      // [batch, heads, length, value_dim]
  float* lse;     // [batch, heads, length] dense, natural logarithm, -inf for a row without keys; or null
  int64_t q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row;
  const void* mask;  // [batch, heads, length, kv_length]; or null
  MaskType mask_type;
  int64_t mask_batch, mask_head, mask_row, mask_column;
  int batch, heads, kv_heads, length, kv_length;
  int head_dim, value_dim;  // 1 to 256
  float scale;              // any; a positive one without a mask takes a faster kernel
  int causal;               // top-left
  int window;               // with causal: row i attends to keys i - window + 1..i only; 0: to all before it
  float softcap;            // scaled scores s become softcap * tanh(s / softcap); 0: they stay
  int aligned;  // 1: rows of q, k, v and out start on 16 bytes, head_dim and value_dim fill whole 16 bytes
  int splits;   // parts that the keys are split into, for few queries; or 1
  // What blocks of one launch leave for each other: see Launch.
  float* partial_out;
  unsigned* counters;  // kCounters zeros, which the kernel leaves as zeros
};

// One kernel, ready to launch. Its numbers are those of the compiled kernel on the current device.
struct Launch {
  std::string_view name;
  int64_t blocks = 0;  // at most kMaxBlocks, else `run` fails
  uint32_t threads = 0;
  int registers = 0;         // per thread
  int64_t shared_bytes = 0;  // per block, static and dynamic
  int dynamic_bytes = 0;
  uint32_t cluster = 1;               // blocks in a row that can see each other's shared memory
  int64_t workspace_floats = 0;       // where more than 0, the caller sets partial_out to so many
  bool needs_counters = false;        // the caller sets counters
  std::shared_ptr<const void> extra;  // what the kernel takes beside the parameters, if anything
  // Enqueues it on `stream`, a cudaStream_t. Returns a cudaError_t.
  int (*run)(const AttentionParams& params, const Launch& launch, void* stream) = nullptr;
};

inline constexpr int64_t kMaxBlocks = INT32_MAX;
inline constexpr int kCounters = 8192;

}  // namespace hunch::attention::sm80
