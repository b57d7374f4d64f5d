// Attention from its definition, twice: in double (the judge), and as a plain implementation in the call's
// own dtype would do it (the measure of what rounding may cost). Written to be read, not to be fast. In:  a
// validated Call, and which rows. Out: host vectors, one output row after the other. Holds: masking comes
// after scaling, so that a negative scale cannot turn -inf into +inf; a row without any attended key is zero
// with LSE -inf; nothing here is shared with a backend but the reading of tensors.
#include "hunch/attention/reference/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "hunch/base/check.h"

namespace hunch::attention::reference {
namespace {

using tensor::DType;

constexpr double kNegInf = -std::numeric_limits<double>::infinity();

template <class T>
std::vector<T> read(const tensor::Tensor& tensor) {
  if constexpr (std::is_same_v<T, float>) return tensor.to_floats();
  if constexpr (std::is_same_v<T, double>) return tensor.to_doubles();
}

// All inputs on the host, row-major but for the keys, and where in them a row of the output looks.
template <class T>
struct HostCall {
  explicit HostCall(const Call& call)
      : batch(call.query.size(0)),
        heads(call.query.size(1)),
        length(call.query.size(2)),
        head_dim(call.query.size(3)),
        kv_heads(call.key.size(1)),
        kv_length(call.key.size(2)),
        value_dim(call.value.size(3)),
        scale(call.effective_scale()),
        is_causal(call.is_causal),
        window(call.window.value_or(kv_length + length)),
        softcap(call.softcap.value_or(0)),
        query(read<T>(call.query)),
        key(read<T>(call.key.transpose(-2, -1))),
        value(read<T>(call.value)) {
    if (!call.mask) return;
    mask = call.mask->to_doubles();
    mask_is_bool = call.mask->dtype() == DType::boolean;
    int64_t stride = 1;  // row-major strides of the mask, 0 where it is broadcast
    for (int dim = 1; dim <= call.mask->rank(); ++dim) {
      mask_strides[static_cast<std::size_t>(4 - dim)] = call.mask->size(-dim) == 1 ? 0 : stride;
      stride *= call.mask->size(-dim);
    }
  }

  int64_t rows() const { return batch * heads * length; }

  int64_t batch, heads, length, head_dim, kv_heads, kv_length, value_dim;
  double scale;
  bool is_causal;
  int64_t window;
  double softcap;        // 0: none
  std::vector<T> query;  // [batch, heads, length, head_dim]
  std::vector<T> key;    // [batch, kv_heads, head_dim, kv_length]
  std::vector<T> value;  // [batch, kv_heads, kv_length, value_dim]
  std::vector<double> mask;
  std::array<int64_t, 4> mask_strides = {0, 0, 0, 0};
  bool mask_is_bool = false;
};

// One row of the output: its query, and the keys and values of its head.
template <class T>
struct Row {
  Row(const HostCall<T>& host, int64_t row) : host_(host) {
    HUNCH_CHECK(row >= 0 && row < host.rows(), "a row that the call does not have");
    i_ = row % host.length;
    const int64_t h = row / host.length % host.heads;
    const int64_t b = row / host.length / host.heads;
    const int64_t kv = b * host.kv_heads + h / (host.heads / host.kv_heads);
    query_ = host.query.data() + row * host.head_dim;
    key_ = host.key.data() + kv * host.kv_length * host.head_dim;
    value_ = host.value.data() + kv * host.kv_length * host.value_dim;
    mask_row_ = b * host.mask_strides[0] + h * host.mask_strides[1] + i_ * host.mask_strides[2];
  }

  bool hidden(int64_t j) const {
    if (host_.is_causal) return j > i_ || j <= i_ - host_.window;
    return host_.mask_is_bool && mask(j) == 0.0;
  }
  double bias(int64_t j) const { return host_.mask.empty() || host_.mask_is_bool ? 0.0 : mask(j); }

  // The query's product with every key, each summed over head_dim from first to last.
  void dots(std::vector<T>& out) const {
    out.assign(static_cast<std::size_t>(host_.kv_length), T{0});
    for (int64_t d = 0; d < host_.head_dim; ++d)
      for (int64_t j = 0; j < host_.kv_length; ++j)
        out[static_cast<std::size_t>(j)] += query_[d] * key_[d * host_.kv_length + j];
  }

  // The weighted sum of the values, each element summed over the keys from first to last. Hidden keys are
  // left out: not even a NaN there may reach the result.
  void mix(const std::vector<T>& weights, std::vector<T>& out) const {
    out.assign(static_cast<std::size_t>(host_.value_dim), T{0});
    for (int64_t j = 0; j < host_.kv_length; ++j) {
      if (hidden(j)) continue;
      const T weight = weights[static_cast<std::size_t>(j)];
      for (int64_t d = 0; d < host_.value_dim; ++d)
        out[static_cast<std::size_t>(d)] += weight * value_[j * host_.value_dim + d];
    }
  }

 private:
  double mask(int64_t j) const {
    return host_.mask[static_cast<std::size_t>(mask_row_ + j * host_.mask_strides[3])];
  }
  const HostCall<T>& host_;
  int64_t i_ = 0;
  int64_t mask_row_ = 0;
  const T* query_ = nullptr;  // [head_dim]
  const T* key_ = nullptr;    // [head_dim, kv_length]
  const T* value_ = nullptr;  // [kv_length, value_dim]
};

// The nearest value of the dtype.
float round_to(DType dtype, float value) {
  if (dtype == DType::bf16) return tensor::float_of_bf16(tensor::bf16_of_float(value));
  if (dtype == DType::f16) return tensor::float_of_f16(tensor::f16_of_float(value));
  return value;
}

std::vector<int64_t> all_rows(const Call& call) {
  std::vector<int64_t> rows(
      static_cast<std::size_t>(call.query.size(0) * call.query.size(1) * call.query.size(2)));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

}  // namespace

Result attention(const Call& call) { return attention(call, all_rows(call)); }

Result attention(const Call& call, std::span<const int64_t> rows) {
  const HostCall<double> host(call);
  Result result;
  result.out.reserve(rows.size() * static_cast<std::size_t>(host.value_dim));
  result.lse.assign(rows.size(), kNegInf);
  std::vector<double> weights, out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row<double> row(host, rows[r]);
    row.dots(weights);
    double largest = kNegInf;
    for (int64_t j = 0; j < host.kv_length; ++j) {
      double& score = weights[static_cast<std::size_t>(j)];
      score *= host.scale;
      if (host.softcap > 0) score = host.softcap * std::tanh(score / host.softcap);
      score = row.hidden(j) ? kNegInf : score + row.bias(j);
      largest = std::max(largest, score);
    }
    if (largest == kNegInf) {  // no key attended
      result.out.insert(result.out.end(), static_cast<std::size_t>(host.value_dim), 0.0);
      continue;
    }
    double total = 0.0;
    for (auto& weight : weights) total += weight = std::exp(weight - largest);
    row.mix(weights, out);
    for (const double value : out) result.out.push_back(value / total);
    result.lse[r] = largest + std::log(total);
  }
  return result;
}

std::vector<double> attention_in_dtype(const Call& call) { return attention_in_dtype(call, all_rows(call)); }

std::vector<double> attention_in_dtype(const Call& call, std::span<const int64_t> rows) {
  const HostCall<float> host(call);
  const DType dtype = call.query.dtype();
  // A mask of another dtype lifts the sum to f32, as type promotion does.
  const bool lifted = !host.mask.empty() && !host.mask_is_bool && call.mask->dtype() != dtype;
  const DType sum_dtype = lifted ? DType::f32 : dtype;
  constexpr float kFloatNegInf = -std::numeric_limits<float>::infinity();
  std::vector<double> result;
  result.reserve(rows.size() * static_cast<std::size_t>(host.value_dim));
  std::vector<float> weights, out;
  for (const int64_t r : rows) {
    const Row<float> row(host, r);
    row.dots(weights);  // a matrix product accumulates in float and rounds once
    float largest = kFloatNegInf;
    for (int64_t j = 0; j < host.kv_length; ++j) {
      float& score = weights[static_cast<std::size_t>(j)];
      float scaled = round_to(dtype, round_to(dtype, score) * static_cast<float>(host.scale));
      if (host.softcap > 0) {
        const auto cap = static_cast<float>(host.softcap);
        const float bent = round_to(dtype, std::tanh(round_to(dtype, scaled / cap)));
        scaled = round_to(dtype, bent * cap);
      }
      score = row.hidden(j) ? kFloatNegInf : round_to(sum_dtype, scaled + static_cast<float>(row.bias(j)));
      largest = std::max(largest, score);
    }
    if (largest == kFloatNegInf) {
      result.insert(result.end(), static_cast<std::size_t>(host.value_dim), 0.0);
      continue;
    }
    float total = 0.0F;
    for (auto& weight : weights) total += weight = std::exp(weight - largest);
    for (auto& weight : weights) weight = round_to(dtype, weight / total);
    row.mix(weights, out);
    for (const float value : out) result.push_back(round_to(dtype, value));
  }
  return result;
}

double error_bound(std::span<const double> exact, std::span<const double> in_dtype) {
  HUNCH_CHECK(exact.size() == in_dtype.size(), "two results of different rows");
  double distance = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::fabs(exact[i] - in_dtype[i]);
    if (std::isfinite(error)) distance = std::max(distance, error);  // an overflow there measures nothing
  }
  return 2.0 * distance + 1e-5;
}

}  // namespace hunch::attention::reference
