// Host side of the CUDA flash kernel for sm_80 and later: what a launch needs, and how its shape is chosen.
// Plain types only, so that host code without CUDA headers can fill it in. Sources: flash_sm80.cu.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hunch::attention::sm80 {

enum class ElementType : int { f16, bf16 };
enum class MaskType : int { none, boolean, f32, f16, bf16 };

// One attention call. All pointers are device memory; strides are in elements, the last dimension of q, k, v
// and out has stride 1, and broadcast dimensions of the mask have stride 0.
struct FlashParams {
  const void* q;  // [batch, heads, length, head_dim]
  const void* k;  // [batch, kv_heads, kv_length, head_dim], kv_heads divides heads
  const void* v;  // like k
  void* out;      // like q
  float* lse;     // [batch, heads, length] dense, natural logarithm, -inf for a row without keys; or null
  int64_t q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row;
  const void* mask;  // [batch, heads, length, kv_length]; or null
  MaskType mask_type;
  int64_t mask_batch, mask_head, mask_row, mask_column;
  int batch, heads, kv_heads, length, kv_length;
  int head_dim;    // 1 to 256
  float scale;     // any; a positive one without a mask takes the faster kernel
  int causal;      // top-left
  int aligned;     // 1: rows of q, k, v and out start on 16 bytes and head_dim is a multiple of 8
  int tile_major;  // set by flash_forward
  // Split over keys, for few queries: parts and where they go, or 1 and null (see flash_splits).
  int splits;
  float* partial_out;  // [splits, batch, heads, length, head_dim]
  float* partial_lse;  // [splits, batch, heads, length]
};

// How many parts to split the keys into so that few queries fill a device of that many multiprocessors.
int flash_splits(const FlashParams& params, int multiprocessors);

// Launches on `stream` (a cudaStream_t); one kernel, or two when splits > 1 (the second combines the parts).
// Returns a cudaError_t; invalid value where head_dim is over 256. Empty problems launch nothing.
int flash_forward(FlashParams params, ElementType type, void* stream);

}  // namespace hunch::attention::sm80
