#include "hunch/attention/tiles/describe.h"

#include <fmt/format.h>

#include "hunch/tensor/cpu_device.h"

namespace hunch::attention::tiles {
namespace {

Strides4 strides_of(const tensor::Tensor& tensor) {
  return {tensor.stride(0), tensor.stride(1), tensor.stride(2), tensor.stride(3)};
}

}  // namespace

std::vector<std::string> refusals(const Call& call, int64_t max_head_dim) {
  std::vector<std::string> reasons;
  const tensor::Tensor& query = call.query;
  if (query.dtype() == tensor::DType::boolean)
    reasons.push_back("query, key and value must be f32, bf16 or f16, and they are bool");
  for (const auto* tensor : {&query, &call.value}) {
    const bool is_query = tensor == &query;
    if (tensor->size(3) > max_head_dim)
      reasons.push_back(fmt::format("the {}'s head_dim is {}, above the limit of {}",
                                    is_query ? "query" : "value", tensor->size(3), max_head_dim));
  }
  return reasons;
}

Output make_output(const Call& call) {
  const tensor::Shape& query = call.query.shape();
  Output output;
  output.out = tensor::Tensor::empty(call.query.device(), call.query.dtype(),
                                     {query[0], query[1], query[2], call.value.size(3)});
  if (call.want_lse)
    output.lse =
        tensor::Tensor::empty(call.query.device(), tensor::DType::f32, {query[0], query[1], query[2]});
  return output;
}

FusedProblem describe(const Call& call, const Output& output) {
  FusedProblem problem = describe(call);
  problem.out = output.out.data();
  if (output.lse) problem.lse = reinterpret_cast<float*>(output.lse->data());
  return problem;
}

FusedProblem describe(const Call& call) {
  FusedProblem problem;
  problem.dtype = call.query.dtype();
  problem.query = call.query.data();
  problem.key = call.key.data();
  problem.value = call.value.data();
  problem.query_strides = strides_of(call.query);
  problem.key_strides = strides_of(call.key);
  problem.value_strides = strides_of(call.value);
  problem.batch = call.query.size(0);
  problem.heads = call.query.size(1);
  problem.kv_heads = call.key.size(1);
  problem.length = call.query.size(2);
  problem.kv_length = call.key.size(2);
  problem.head_dim = call.query.size(3);
  problem.value_dim = call.value.size(3);
  problem.causal = call.is_causal;
  problem.window = call.window.value_or(0);
  problem.scale = call.effective_scale();
  problem.softcap = call.softcap.value_or(0);
  if (call.mask) {
    const tensor::Tensor mask =
        call.mask->expand({problem.batch, problem.heads, problem.length, problem.kv_length});
    problem.mask = {mask.data(), mask.dtype(), strides_of(mask)};
  }
  return problem;
}

}  // namespace hunch::attention::tiles
