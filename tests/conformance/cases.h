// Random attention calls of every supported kind, each from (seed, index) alone, so that one can be run
// again. In:  a device, a seed, an index. Out: a call, the buffers behind it, and words that describe it.
// Holds: every tensor is a view into a larger buffer that is filled with NaN wherever the view does not
// reach (1 in masks), before, between and behind its elements; so a read outside of the view shows.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hunch/attention/problem.h"
#include "hunch/base/check.h"

namespace hunch::conformance {

using attention::Call;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

struct Case {
  Call call;
  std::vector<Tensor> storage;  // the whole buffers behind query, key, value and mask
  std::string text;
};

class CaseMaker {
 public:
  CaseMaker(tensor::Device& device, uint64_t seed, uint64_t index) : device_(device), index_(index) {
    std::seed_seq mixed{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                        static_cast<uint32_t>(index)};
    random_.seed(mixed);
  }

  Case make() {
    // GPU kernels ask for elements side by side, and read 16 bytes at once where rows start on 16 bytes.
    if (device_.info().kind == tensor::DeviceKind::cuda) {
      unit_rows_ = chance(0.9);
      aligned_ = unit_rows_ && chance(0.6);
    }
    choose_sizes();
    dtype_ = pick<DType>({DType::f32, DType::bf16, DType::f16});
    text_ = fmt::format("batch {} heads {} kv_heads {} length {} kv_length {} head_dim {} value_dim {} {}",
                        batch_, heads_, kv_heads_, length_, kv_length_, head_dim_, value_dim_,
                        tensor::name_of(dtype_));
    Call& call = case_.call;
    call.query =
        make_tensor("q", dtype_, {batch_, heads_, length_, head_dim_}, magnitude({1, 1, 1, 0.1F, 4}));
    call.key = make_tensor("k", dtype_, {batch_, kv_heads_, kv_length_, head_dim_}, 1);
    call.value =
        make_tensor("v", dtype_, {batch_, kv_heads_, kv_length_, value_dim_}, magnitude({1, 1, 1, 10}));
    call.enable_gqa = kv_heads_ != heads_;
    choose_scale();
    choose_mask();
    choose_extras();
    call.want_lse = chance(0.5);
    case_.text = text_;
    return std::move(case_);
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool chance(double probability) { return uniform() < probability; }
  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // Near enough to normal, of variance 1: the sum of four uniform numbers, all from one draw.
  float normal() {
    const uint64_t bits = random_();
    float sum = -2.0F;
    for (int part = 0; part < 64; part += 16) sum += static_cast<float>(bits >> part & 0xFFFF) * 0x1p-16F;
    return sum * 1.7320508F;
  }
  // A factor for values; 1 in f32, where the bound is absolute (1e-5) and so made for values near 1.
  float magnitude(std::vector<float> choices) {
    const float chosen = pick(std::move(choices));
    return dtype_ == DType::f32 ? 1.0F : chosen;
  }
  template <class T>
  T pick(std::vector<T> choices) {
    return choices[static_cast<std::size_t>(between(0, static_cast<int64_t>(choices.size()) - 1))];
  }

  int64_t a_length() {
    if (chance(0.02)) return 0;
    if (chance(0.4)) return pick<int64_t>({1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130});
    return between(1, 130);
  }
  int64_t a_head_dim() {
    if (chance(0.5))
      return pick<int64_t>(
          {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 40, 64, 64, 64, 72, 80, 96, 128, 255, 256});
    return between(1, chance(0.5) ? 64 : 256);
  }

  void choose_sizes() {
    batch_ = chance(0.02) ? 0 : pick<int64_t>({1, 1, 2, 3});
    kv_heads_ = pick<int64_t>({1, 1, 2, 3});
    heads_ = kv_heads_ * (chance(0.4) ? between(2, 4) : 1);
    length_ = a_length();
    kv_length_ = chance(0.4) ? length_ : a_length();
    head_dim_ = a_head_dim();
    if (aligned_) head_dim_ = (head_dim_ + 7) / 8 * 8;
    value_dim_ = chance(0.85) ? head_dim_ : a_head_dim();
    if (index_ % 40 == 7) {  // a large one: many tiles in both directions
      batch_ = 1;
      heads_ = kv_heads_ = between(1, 2);
      length_ = between(200, 700);
      kv_length_ = chance(0.5) ? length_ : between(200, 1100);
      head_dim_ = value_dim_ = pick<int64_t>({32, 64, 80, 128});
    } else if (index_ % 40 == 27) {  // decoding: one query or a few, many keys, grouped heads
      batch_ = between(1, 2);
      kv_heads_ = 1;
      heads_ = pick<int64_t>({1, 4, 8});
      length_ = between(1, 4);
      kv_length_ = between(500, 3000);
      head_dim_ = value_dim_ = pick<int64_t>({64, 128});
    }
  }

  void choose_scale() {
    const double natural = 1 / std::sqrt(static_cast<double>(head_dim_));
    if (chance(0.6)) return;
    case_.call.scale =
        pick<double>({0.0, -0.0, natural, -natural, -natural, 2 * natural, 0.01, -0.3 * natural});
    text_ += fmt::format(", scale {:.4g}", *case_.call.scale);
  }

  void choose_mask() {
    switch (between(0, 3)) {
      case 0:
        text_ += ", no mask";
        break;
      case 1:
        text_ += ", causal";
        case_.call.is_causal = true;
        break;
      case 2:
        make_mask(DType::boolean);
        break;
      default:
        make_mask(chance(0.6) ? dtype_ : pick<DType>({DType::f32, DType::bf16, DType::f16}));
        break;
    }
  }

  // What only FlashAttention has; rarely, as every other backend refuses it.
  void choose_extras() {
    if (case_.call.is_causal && chance(0.3)) {
      case_.call.window = chance(0.2) ? pick<int64_t>({1, 2, 5000}) : between(1, 200);
      text_ += fmt::format(", window {}", *case_.call.window);
    }
    if (chance(0.1)) {
      case_.call.softcap = pick<double>({0.5, 5.0, 30.0, 50.0});
      text_ += fmt::format(", softcap {}", *case_.call.softcap);
    }
  }

  // Any subset of the four dimensions broadcast, leading ones perhaps left out; whole rows masked at times.
  void make_mask(DType dtype) {
    Shape full = {batch_, heads_, length_, kv_length_};
    for (int dim = 0; dim < 4; ++dim)
      if (chance(dim < 2 ? 0.5 : 0.15)) full[dim] = 1;
    if (chance(0.2)) full = {full[0], 1, 1, kv_length_};  // a padding mask
    const bool boolean = dtype == DType::boolean;
    const double keep = pick<double>({0.02, 0.3, 0.75, 0.75, 0.97, 1.0});
    const bool lowest = !boolean && chance(0.15);  // hide by the lowest finite value instead of -inf
    // f16 has no value so low that adding a score leaves it as it was: a whole row of it would be a softmax
    // of what rounding left, about which a bound says nothing.
    const bool coarse = lowest && dtype == DType::f16;
    const double empty_rows = coarse ? 0.0 : pick<double>({0, 0, 0.1, 0.5});
    const auto hidden = boolean ? 0.0F : lowest ? lowest_of(dtype) : -std::numeric_limits<float>::infinity();
    const float size = magnitude({1, 1, 5});
    std::vector<float> values(static_cast<std::size_t>(full.numel()));
    bool row_is_empty = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool first = i % static_cast<std::size_t>(full[3]) == 0;
      if (first) row_is_empty = chance(empty_rows);
      const bool seen = (!row_is_empty && chance(keep)) || (coarse && first);
      values[i] = !seen ? hidden : boolean ? 1.0F : size * normal();
    }
    text_ += fmt::format(", {}{} mask {} keep {} empty rows {}", tensor::name_of(dtype),
                         lowest ? " (lowest)" : "", full.text(), keep, empty_rows);
    Tensor mask = place("mask", dtype, full, values);
    while (mask.rank() > 1 && mask.size(0) == 1 && chance(0.5)) mask = drop_first(mask);
    if (mask.rank() == 4 && chance(0.15)) {
      text_ += " expanded";
      mask = mask.expand({batch_, heads_, length_, kv_length_});
    }
    case_.call.mask = mask;
  }

  // Far below any score and finite; in f16 with room for a score to be added.
  static float lowest_of(DType dtype) {
    if (dtype == DType::f16) return -30000.0F;
    return dtype == DType::bf16 ? -3.3895e38F : std::numeric_limits<float>::lowest();
  }

  // Rank lowered by one where the first dimension has one entry: a slice keeps the strides of the others.
  Tensor drop_first(const Tensor& tensor) {
    Shape rest;
    for (int dim = 1; dim < tensor.rank(); ++dim) rest.push_back(tensor.size(dim));
    return tensor.is_contiguous() ? tensor.view(rest) : tensor;
  }

  Tensor make_tensor(const char* name, DType dtype, Shape shape, float size) {
    const Shape full = shape;
    const bool shared_batch = shape[0] > 1 && chance(0.05);
    if (shared_batch) shape[0] = 1;
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    for (auto& value : values) value = size * normal();
    const Tensor tensor = place(name, dtype, shape, values);
    if (!shared_batch) return tensor;
    text_ += " shared";
    return tensor.expand(full);
  }

  // A view of `shape` that holds `values`, inside a larger buffer full of NaN: its dimensions stored in some
  // order, with room around each and perhaps every second element of one.
  Tensor place(const char* name, DType dtype, const Shape& shape, const std::vector<float>& values) {
    std::array<int, 4> order = {0, 1, 2, 3};  // storage dimension -> dimension of the view
    const double kind = uniform();
    const bool unit = unit_rows_ && dtype != DType::boolean && name[0] != 'm';
    if (kind < 0.35) {
      order = {0, 2, 1, 3};  // [batch, length, heads, head_dim], as projections give it
    } else if (kind > 0.75) {
      std::shuffle(order.begin(), unit ? order.end() - 1 : order.end(), random_);
    }
    const bool dense = kind < 0.9 && chance(0.3);
    std::array<int64_t, 4> before = {}, step = {1, 1, 1, 1};
    Shape stored;
    for (std::size_t at = 0; at < 4; ++at) {
      const int64_t size = shape[order[at]];
      if (!dense && chance(0.1) && !(unit && at == 3)) step[at] = 2;
      before[at] = dense || chance(0.5) ? 0 : between(0, 2);
      int64_t after = dense && at > 0 ? 0 : between(at == 3 ? 0 : 1, at == 3 ? 9 : 2);
      if (unit && aligned_ && at == 3) {
        before[at] *= 8;
        after += 7 - (size + after + 7) % 8;  // so that a whole row is a multiple of 8 elements
      }
      stored.push_back(before[at] + size * step[at] + after);
    }
    const float poison = dtype == DType::boolean ? 1.0F : std::numeric_limits<float>::quiet_NaN();
    std::vector<float> buffer(static_cast<std::size_t>(stored.numel()), poison);
    const auto strides = tensor::contiguous_strides(stored);
    std::array<int64_t, 4> index = {};
    for (const float value : values) {
      int64_t offset = 0;
      for (std::size_t at = 0; at < 4; ++at)
        offset += strides[static_cast<int>(at)] *
                  (before[at] + step[at] * index[static_cast<std::size_t>(order[at])]);
      buffer[static_cast<std::size_t>(offset)] = value;
      for (std::size_t dim = 4; dim-- > 0;) {
        if (++index[dim] < shape[static_cast<int>(dim)]) break;
        index[dim] = 0;
      }
    }
    const Tensor whole = Tensor::from_floats(device_, dtype, stored, buffer);
    case_.storage.push_back(whole);
    Tensor view = whole;
    for (std::size_t at = 0; at < 4; ++at) {
      const int64_t size = shape[order[at]];
      view = view.slice(static_cast<int>(at), before[at], before[at] + size * step[at], step[at]);
    }
    for (int dim = 0; dim < 4; ++dim) {
      const auto found = std::find(order.begin(), order.end(), dim) - order.begin();
      view = view.transpose(dim, static_cast<int>(found));
      std::swap(order[static_cast<std::size_t>(dim)], order[static_cast<std::size_t>(found)]);
    }
    HUNCH_CHECK(view.shape() == shape, "a view of the wrong shape");
    text_ += fmt::format(", {} strides {}", name, view.strides().text());
    return view;
  }

  tensor::Device& device_;
  uint64_t index_;
  std::mt19937_64 random_;
  Case case_;
  std::string text_;
  DType dtype_ = DType::f32;
  bool unit_rows_ = false, aligned_ = false;  // of query, key and value
  int64_t batch_ = 1, heads_ = 1, kv_heads_ = 1, length_ = 1, kv_length_ = 1, head_dim_ = 1, value_dim_ = 1;
};

}  // namespace hunch::conformance
