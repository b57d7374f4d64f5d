// What no backend can accept: shapes that do not belong together, foreign dtypes and devices, two masks.
// In:  a Call. Out: ok, or one usage error that names the field, what it is, and what it should be.
// Holds: after validate() every backend may index by the call's shapes without further checks. What only some
// backends lack is not said here; that is their refusals().
#include <fmt/format.h>

#include <cmath>

#include "hunch/attention/problem.h"
#include "hunch/tensor/device.h"

namespace hunch::attention {
namespace {

using base::ErrorCode;
using tensor::Tensor;

bool is_floating(tensor::DType dtype) { return dtype != tensor::DType::boolean; }

base::Status check_tensor(std::string_view name, const Tensor& tensor) {
  if (!tensor.defined())
    return base::fail(ErrorCode::usage, fmt::format("{} is not set", name),
                      "a tensor [batch, heads, length, head_dim]");
  if (tensor.rank() != 4) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("{} has {} dimensions ({}), not 4", name, tensor.rank(), tensor.shape().text()),
        "[batch, heads, length, head_dim]");
  }
  if (!is_floating(tensor.dtype()))
    return base::fail(ErrorCode::usage, fmt::format("{} is {}", name, tensor::name_of(tensor.dtype())),
                      "f32, bf16 or f16");
  return {};
}

base::Status check_same(std::string_view name, const Tensor& tensor, const Tensor& query) {
  if (&tensor.device() != &query.device()) {
    return base::fail(ErrorCode::usage,
                      fmt::format("{} is on {} and query on {}, another device", name,
                                  tensor.device().info().name, query.device().info().name),
                      "all tensors on one device");
  }
  if (tensor.dtype() != query.dtype()) {
    return base::fail(ErrorCode::usage,
                      fmt::format("{} is {} and query is {}", name, tensor::name_of(tensor.dtype()),
                                  tensor::name_of(query.dtype())),
                      "one dtype for query, key and value");
  }
  if (tensor.size(0) != query.size(0)) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("{} has batch {} and query has batch {}", name, tensor.size(0), query.size(0)),
        "one batch size, by expand() where one is shared");
  }
  return {};
}

base::Status check_heads(const Call& call) {
  const int64_t heads = call.query.size(1);
  const int64_t kv_heads = call.key.size(1);
  if (heads < 1 || kv_heads < 1)
    return base::fail(ErrorCode::usage, fmt::format("query has {} heads and key has {}", heads, kv_heads),
                      "at least one each");
  if (heads == kv_heads) return {};
  if (heads % kv_heads != 0) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("{} query heads cannot share {} key and value heads evenly", heads, kv_heads),
        "a number of key and value heads that divides the query's");
  }
  if (!call.enable_gqa) {
    return base::fail(ErrorCode::usage, fmt::format("query has {} heads and key has {}", heads, kv_heads),
                      "enable_gqa for grouped heads, or expand key and value");
  }
  return {};
}

base::Status check_mask(const Call& call) {
  if (!call.mask) return {};
  const Tensor& mask = *call.mask;
  if (!mask.defined()) return base::fail(ErrorCode::usage, "mask is not set", "a tensor, or no mask at all");
  if (call.is_causal) {
    return base::fail(ErrorCode::usage, "is_causal and a mask are both given",
                      "one of the two, with the causal part written into the mask");
  }
  if (&mask.device() != &call.query.device()) {
    return base::fail(ErrorCode::usage,
                      fmt::format("mask is on {} and query on {}, another device", mask.device().info().name,
                                  call.query.device().info().name),
                      "all tensors on one device");
  }
  const tensor::Shape scores = {call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)};
  bool fits = mask.rank() <= 4;
  for (int dim = 1; fits && dim <= mask.rank(); ++dim)
    fits = mask.size(-dim) == 1 || mask.size(-dim) == scores[-dim];
  if (!fits) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("mask {} does not broadcast to the scores {}", mask.shape().text(), scores.text()),
        "[batch or 1, heads or 1, length or 1, kv_length or 1], leading ones left out at will");
  }
  return {};
}

}  // namespace

double Call::effective_scale() const {
  return scale ? *scale : 1.0 / std::sqrt(static_cast<double>(query.size(3)));
}

base::Status check_extras(std::optional<int64_t> window, std::optional<double> softcap) {
  if (window && *window < 1) {
    return base::fail(ErrorCode::usage, fmt::format("a window of {} keys", *window),
                      "at least 1, which is a query's own key");
  }
  if (softcap && !(std::isfinite(*softcap) && *softcap > 0))
    return base::fail(ErrorCode::usage, fmt::format("softcap {}", *softcap), "a finite number above 0");
  return {};
}

base::Status validate(const Call& call) {
  HUNCH_RETURN_IF_ERROR(check_tensor("query", call.query));
  HUNCH_RETURN_IF_ERROR(check_tensor("key", call.key));
  HUNCH_RETURN_IF_ERROR(check_tensor("value", call.value));
  HUNCH_RETURN_IF_ERROR(check_same("key", call.key, call.query));
  HUNCH_RETURN_IF_ERROR(check_same("value", call.value, call.query));
  if (call.query.size(3) < 1 || call.value.size(3) < 1) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("head_dim is {} in query and {} in value", call.query.size(3), call.value.size(3)),
        "at least 1");
  }
  if (call.key.size(3) != call.query.size(3)) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("key has head_dim {} and query has head_dim {}", call.key.size(3), call.query.size(3)),
        "one head_dim for both; only value's may differ");
  }
  if (call.value.size(1) != call.key.size(1) || call.value.size(2) != call.key.size(2)) {
    return base::fail(
        ErrorCode::usage,
        fmt::format("value is {} and key is {}", call.value.shape().text(), call.key.shape().text()),
        "the same heads and length for both");
  }
  HUNCH_RETURN_IF_ERROR(check_heads(call));
  HUNCH_RETURN_IF_ERROR(check_mask(call));
  if (call.scale && !std::isfinite(*call.scale))
    return base::fail(ErrorCode::usage, fmt::format("scale {} is not finite", *call.scale), "a finite scale");
  if (call.window && !call.is_causal)
    return base::fail(ErrorCode::usage, "a window without is_causal",
                      "is_causal, or the window written into a mask");
  return check_extras(call.window, call.softcap);
}

}  // namespace hunch::attention
