// What a fused attention kernel needs to know, as plain pointers and strides: the seam between the host
// files, which speak of tensors, and the CPU kernels, which do not.
//
// Strides are in elements, for [batch, head, position, channel]; 0 where a mask is broadcast.
// Query heads share key and value heads in runs: query head h reads head h / (heads / kv_heads).
#pragma once

#include <array>
#include <cstdint>

#include "hunch/tensor/dtype.h"

namespace hunch::attention::tiles {

using Strides4 = std::array<int64_t, 4>;

struct MaskView {
  const void* data = nullptr;  // null: no mask
  tensor::DType dtype = tensor::DType::boolean;
  Strides4 strides = {};  // [batch, head, query, key]
};

struct FusedProblem {
  tensor::DType dtype = tensor::DType::f32;  // of query, key, value and out
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  void* out = nullptr;   // [batch, heads, length, value_dim], dense
  float* lse = nullptr;  // [batch, heads, length], dense, natural logarithm; null: not wanted
  Strides4 query_strides = {}, key_strides = {}, value_strides = {};
  int64_t batch = 0, heads = 0, kv_heads = 0;
  int64_t length = 0, kv_length = 0;
  int64_t head_dim = 0, value_dim = 0;
  bool causal = false;  // query i attends to keys 0..i
  int64_t window = 0;   // causal: query i attends to keys i - window + 1..i only; 0: to all before it
  double scale = 1.0;   // of the scores, before the mask
  double softcap = 0;   // scaled scores s become softcap * tanh(s / softcap); 0: they stay
  MaskView mask;

  int64_t group() const { return heads / kv_heads; }  // query heads a key head
  int64_t rows() const { return group() * length; }   // queries that share one key head
};

}  // namespace hunch::attention::tiles
