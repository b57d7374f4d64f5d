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

#include "hunch/base/check.h"

namespace hunch::attention::reference {
namespace {

using tensor::DType;

constexpr double kNegInf = -std::numeric_limits<double>::infinity();

// All inputs on the host, row-major, and where in them a row of the output looks.
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
        query(call.query.to_doubles()),
        key(call.key.to_doubles()),
        value(call.value.to_doubles()) {
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
  std::vector<double> query, key, value, mask;
  std::array<int64_t, 4> mask_strides = {0, 0, 0, 0};
  bool mask_is_bool = false;
};

// One row of the output: its query, and the keys and values of its head.
struct Row {
  Row(const HostCall& host, int64_t row) : host_(host) {
    HUNCH_CHECK(row >= 0 && row < host.rows(), "a row that the call does not have");
    i = row % host.length;
    const int64_t h = row / host.length % host.heads;
    const int64_t b = row / host.length / host.heads;
    const int64_t kv = b * host.kv_heads + h / (host.heads / host.kv_heads);
    query = host.query.data() + row * host.head_dim;
    key = host.key.data() + kv * host.kv_length * host.head_dim;
    value = host.value.data() + kv * host.kv_length * host.value_dim;
    mask_row_ = b * host.mask_strides[0] + h * host.mask_strides[1] + i * host.mask_strides[2];
  }

  bool hidden(int64_t j) const {
    if (host_.is_causal) return j > i;
    return host_.mask_is_bool && mask(j) == 0.0;
  }
  double bias(int64_t j) const { return host_.mask.empty() || host_.mask_is_bool ? 0.0 : mask(j); }

  int64_t i = 0;
  const double* query = nullptr;  // [head_dim]
  const double* key = nullptr;    // [kv_length, head_dim]
  const double* value = nullptr;  // [kv_length, value_dim]

 private:
  double mask(int64_t j) const {
    return host_.mask[static_cast<std::size_t>(mask_row_ + j * host_.mask_strides[3])];
  }
  const HostCall& host_;
  int64_t mask_row_ = 0;
};

// The nearest value of the dtype.
double round_to(DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::bf16) return tensor::float_of_bf16(tensor::bf16_of_float(narrow));
  if (dtype == DType::f16) return tensor::float_of_f16(tensor::f16_of_float(narrow));
  return narrow;
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
  const HostCall host(call);
  Result result;
  result.out.assign(rows.size() * static_cast<std::size_t>(host.value_dim), 0.0);
  result.lse.assign(rows.size(), kNegInf);
  std::vector<double> scores(static_cast<std::size_t>(host.kv_length));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row row(host, rows[r]);
    double largest = kNegInf;
    for (int64_t j = 0; j < host.kv_length; ++j) {
      double& score = scores[static_cast<std::size_t>(j)];
      score = kNegInf;
      if (row.hidden(j)) continue;
      double dot = 0.0;
      for (int64_t d = 0; d < host.head_dim; ++d) dot += row.query[d] * row.key[j * host.head_dim + d];
      score = dot * host.scale + row.bias(j);
      largest = std::max(largest, score);
    }
    if (largest == kNegInf) continue;  // no key attended
    double total = 0.0;
    double* out = result.out.data() + r * static_cast<std::size_t>(host.value_dim);
    for (int64_t j = 0; j < host.kv_length; ++j) {
      const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
      if (row.hidden(j)) continue;  // not even a NaN there may reach the result
      total += weight;
      for (int64_t d = 0; d < host.value_dim; ++d) out[d] += weight * row.value[j * host.value_dim + d];
    }
    for (int64_t d = 0; d < host.value_dim; ++d) out[d] /= total;
    result.lse[r] = largest + std::log(total);
  }
  return result;
}

std::vector<double> attention_in_dtype(const Call& call) { return attention_in_dtype(call, all_rows(call)); }

std::vector<double> attention_in_dtype(const Call& call, std::span<const int64_t> rows) {
  const HostCall host(call);
  const DType dtype = call.query.dtype();
  // A mask of another dtype lifts the sum to f32, as type promotion does.
  const DType sum_dtype =
      host.mask.empty() || host.mask_is_bool || call.mask->dtype() == dtype ? dtype : DType::f32;
  std::vector<double> result(rows.size() * static_cast<std::size_t>(host.value_dim), 0.0);
  std::vector<float> weights(static_cast<std::size_t>(host.kv_length));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row row(host, rows[r]);
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t j = 0; j < host.kv_length; ++j) {
      float& score = weights[static_cast<std::size_t>(j)];
      score = -std::numeric_limits<float>::infinity();
      if (row.hidden(j)) continue;
      float dot = 0.0F;  // matrix products accumulate in float and round once
      for (int64_t d = 0; d < host.head_dim; ++d)
        dot += static_cast<float>(row.query[d]) * static_cast<float>(row.key[j * host.head_dim + d]);
      const double scaled = round_to(dtype, round_to(dtype, dot) * static_cast<float>(host.scale));
      score = static_cast<float>(round_to(sum_dtype, scaled + row.bias(j)));
      largest = std::max(largest, score);
    }
    if (std::isinf(largest) && largest < 0) continue;
    float total = 0.0F;
    for (auto& weight : weights) {
      weight = std::exp(weight - largest);
      total += weight;
    }
    for (auto& weight : weights) weight = static_cast<float>(round_to(dtype, weight / total));
    for (int64_t d = 0; d < host.value_dim; ++d) {
      float sum = 0.0F;
      for (int64_t j = 0; j < host.kv_length; ++j) {
        if (row.hidden(j)) continue;
        sum += weights[static_cast<std::size_t>(j)] * static_cast<float>(row.value[j * host.value_dim + d]);
      }
      result[r * static_cast<std::size_t>(host.value_dim) + static_cast<std::size_t>(d)] =
          round_to(dtype, sum);
    }
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
