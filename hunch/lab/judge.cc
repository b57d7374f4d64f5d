// Sampling, the reference for the sample, and the comparison.
// In:  a call, small or large. Out: its exact rows, kept; then a verdict on each result.
// Holds: a sampled head is judged by the reference for that head alone, cut out of the call with its keys,
// values and mask, so that neither time nor memory grows with batch and heads.
#include "hunch/lab/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "hunch/attention/reference/reference.h"

namespace hunch::lab {
namespace {

namespace reference = attention::reference;
using tensor::Tensor;

// Multiplications that the reference may spend, about a tenth of a second; the plain implementation beside it
// takes as long again.
constexpr double kWork = 4e7;
constexpr int64_t kHeads = 16;     // heads that a sample looks at
constexpr int64_t kFewest = 8;     // rows of a head, however long they are
constexpr double kMostKeys = 5e7;  // keys' and values' numbers that it may read in all, or else one head's

// A small generator whose numbers are the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Below `bound`, which is at least 1. The bias is of no matter here.
  int64_t below(int64_t bound) {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

// `count` of [0, total), in order: the first, the last, and one at random from each stretch of equal length.
std::vector<int64_t> spread(int64_t total, int64_t count, Random& random) {
  std::set<int64_t> picked;
  if (count < total) {
    picked = {0, total - 1};
    for (int64_t i = 0; i < count - 2; ++i) {
      const int64_t from = i * total / count;
      const int64_t to = std::max(from + 1, (i + 1) * total / count);
      picked.insert(from + random.below(to - from));
    }
  } else {
    for (int64_t i = 0; i < total; ++i) picked.insert(picked.end(), i);
  }
  return {picked.begin(), picked.end()};
}

// The call for one query head alone.
attention::Call one_head(const attention::Call& call, int64_t batch, int64_t head) {
  const int64_t kv_head = head / (call.query.size(1) / call.key.size(1));
  const auto part = [&](const Tensor& of, int64_t h) {
    return of.slice(0, batch, batch + 1).slice(1, h, h + 1);
  };
  attention::Call one = call;
  one.query = part(call.query, head);
  one.key = part(call.key, kv_head);
  one.value = part(call.value, kv_head);
  one.scale = call.effective_scale();
  if (!call.mask) return one;
  Tensor mask = *call.mask;
  if (mask.rank() >= 4 && mask.size(-4) > 1) mask = mask.slice(-4, batch, batch + 1);
  if (mask.rank() >= 3 && mask.size(-3) > 1) mask = mask.slice(-3, head, head + 1);
  one.mask = mask;
  return one;
}

}  // namespace

Judge::Judge(const attention::Call& call, uint64_t seed) : value_dim_(call.value.size(3)) {
  const int64_t batch = call.query.size(0), heads = call.query.size(1), length = call.query.size(2);
  const int64_t rows = batch * heads * length;
  const double row_work =
      static_cast<double>(call.key.size(2)) * static_cast<double>(call.query.size(3) + value_dim_);
  std::vector<double> plain;
  if (static_cast<double>(rows) * row_work <= kWork) {
    Part part;
    part.whole = true;
    add_part(std::move(part), call, plain);
  } else {
    Random random(seed);
    const int64_t fit = std::max<int64_t>(1, static_cast<int64_t>(kMostKeys / std::max(1.0, row_work)));
    const auto picked = spread(batch * heads, std::min({batch * heads, kHeads, fit}), random);
    const auto of_each = static_cast<int64_t>(kWork / row_work / static_cast<double>(picked.size()));
    for (const int64_t index : picked) {
      Part part;
      part.batch = index / heads;
      part.head = index % heads;
      part.queries = spread(length, std::max(kFewest, of_each), random);
      add_part(std::move(part), one_head(call, index / heads, index % heads), plain);
    }
  }
  std::vector<double> exact;
  for (const Part& part : parts_) exact.insert(exact.end(), part.exact.begin(), part.exact.end());
  bound_ = reference::error_bound(exact, plain);
}

void Judge::add_part(Part part, const attention::Call& call, std::vector<double>& plain) {
  const reference::Result exact =
      part.whole ? reference::attention(call) : reference::attention(call, part.queries);
  const std::vector<double> in_dtype =
      part.whole ? reference::attention_in_dtype(call) : reference::attention_in_dtype(call, part.queries);
  part.exact = exact.out;
  for (const double lse : exact.lse) part.empty.push_back(std::isinf(lse) && lse < 0);
  plain.insert(plain.end(), in_dtype.begin(), in_dtype.end());
  parts_.push_back(std::move(part));
}

int64_t Judge::rows() const {
  int64_t rows = 0;
  for (const Part& part : parts_) rows += static_cast<int64_t>(part.empty.size());
  return rows;
}

Judgement Judge::judge(const Tensor& out, bool by_hand) const {
  Judgement judgement{0, true};
  const auto compare = [&](double seen, double exact, bool empty) {
    if (empty && by_hand) {
      if (!std::isnan(seen)) judgement.ok = false;
      return;
    }
    if (empty && seen != 0) judgement.ok = false;
    const double error =
        std::isfinite(seen) ? std::fabs(seen - exact) : std::numeric_limits<double>::infinity();
    judgement.max_abs_error = std::max(judgement.max_abs_error, error);
  };
  for (const Part& part : parts_) {
    std::vector<double> seen;
    if (part.whole) {
      seen = out.to_doubles();
    } else {
      const Tensor head = out.slice(0, part.batch, part.batch + 1).slice(1, part.head, part.head + 1);
      for (const int64_t query : part.queries) {
        const std::vector<double> row = head.slice(2, query, query + 1).to_doubles();
        seen.insert(seen.end(), row.begin(), row.end());
      }
    }
    for (std::size_t i = 0; i < part.exact.size(); ++i)
      compare(seen[i], part.exact[i], part.empty[i / static_cast<std::size_t>(value_dim_)]);
  }
  if (!(judgement.max_abs_error <= bound_)) judgement.ok = false;
  return judgement;
}

}  // namespace hunch::lab
