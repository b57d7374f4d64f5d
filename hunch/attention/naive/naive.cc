// The two by-hand variants. What they launch is what a reader should count: with a causal or boolean mask
// matmul, mul, masked_fill (in the out-of-place one a copy before its kernel), softmax, matmul; with a float
// mask add takes masked_fill's place; without a mask there is neither. Grouped heads cost two kernels more,
// a float mask of a dtype wider than the query's one more: it lifts the weights, which must come down again.
#include "hunch/attention/naive/naive.h"

#include <limits>

#include "hunch/attention/extras.h"
#include "hunch/attention/score_memory.h"
#include "hunch/ops/ops.h"

namespace hunch::attention::naive {
namespace {

using tensor::DType;
using tensor::Tensor;

// The forward of both, which differ only in how they fill masked pairs.
template <class Fill>
Output attend(const Prepared& prepared, const Fill& fill) {
  const Call& call = prepared.call;
  Tensor key = call.key;
  Tensor value = call.value;
  const int64_t times = call.query.size(1) / key.size(1);
  if (times > 1) {
    key = ops::repeat_heads(key, times);
    value = ops::repeat_heads(value, times);
  }
  Tensor scores = ops::matmul(call.query, key.transpose(-2, -1));
  scores = ops::mul(scores, call.effective_scale());
  if (prepared.hidden) scores = fill(std::move(scores), *prepared.hidden);
  if (call.mask && !prepared.hidden) scores = ops::add(scores, *call.mask);
  const Tensor weights = ops::cast(ops::softmax(scores), value.dtype());
  return Output{ops::matmul(weights, value), std::nullopt};
}

constexpr double kNegInf = -std::numeric_limits<double>::infinity();

}  // namespace

std::string_view NaiveBackend::summary() const {
  return "by hand: matmul, mul, masked_fill, softmax, matmul, each out of place";
}

std::string_view NaiveInplaceBackend::summary() const { return "by hand, with masked_fill_ in place"; }

std::vector<std::string> NaiveBackend::refusals(const Call& call) const {
  std::vector<std::string> reasons;
  if (call.want_lse) reasons.emplace_back("it does not return the log-sum-exp");
  add_extra_refusals(call, reasons);
  // Two score matrices live at once: each step reads one and writes the next. A wider mask makes both f32.
  const bool lifted =
      call.mask && call.mask->dtype() != DType::boolean && call.mask->dtype() != call.query.dtype();
  const DType dtype = lifted ? DType::f32 : call.query.dtype();
  const auto bytes = static_cast<double>(tensor::size_of(dtype));
  add_score_memory_refusal(call, {.matrix = bytes, .peak = 2 * bytes}, reasons);
  return reasons;
}

Prepared NaiveBackend::prepare(const Call& call) const {
  Prepared prepared{call, std::nullopt};
  auto& device = call.query.device();
  const Tensor yes = ops::full(device, DType::boolean, {}, 1.0);
  const Tensor no = ops::full(device, DType::boolean, {}, 0.0);
  if (call.is_causal) {
    const Tensor seen = ops::tril(ops::ones(device, DType::boolean, {call.query.size(2), call.key.size(2)}));
    prepared.hidden = ops::where(seen, no, yes);
  } else if (call.mask && call.mask->dtype() == DType::boolean) {
    prepared.hidden = ops::where(*call.mask, no, yes);
  } else if (call.mask && call.mask->dtype() != call.query.dtype()) {
    prepared.call.mask = ops::cast(*call.mask, DType::f32);  // so that the sum has the dtype of the wider
  }
  return prepared;
}

base::Result<Output> NaiveBackend::forward(const Prepared& prepared) const {
  return attend(prepared, [](const Tensor& scores, const Tensor& hidden) {
    return ops::masked_fill(scores, hidden, kNegInf);
  });
}

base::Result<Output> NaiveInplaceBackend::forward(const Prepared& prepared) const {
  return attend(prepared, [](Tensor scores, const Tensor& hidden) {
    ops::masked_fill_(scores, hidden, kNegInf);
    return scores;
  });
}

}  // namespace hunch::attention::naive
