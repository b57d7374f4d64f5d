// The score matrix grows with the square of the length, so it is what an unfused backend dies of. Counted in
// double, since the pairs of a problem whose tensors fit may be beyond int64.
#include "hunch/attention/score_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "hunch/base/units.h"
#include "hunch/tensor/device.h"

namespace hunch::attention {
namespace {

std::string bytes_text(double bytes) {
  constexpr double kLargest = 4.0e18;  // below int64's end; larger is printed as "over"
  return (bytes > kLargest ? "over " : "") +
         base::format_bytes(static_cast<int64_t>(std::min(bytes, kLargest)));
}

}  // namespace

void add_score_memory_refusal(const Call& call, ScoreBytes per_pair, std::vector<std::string>& reasons) {
  double pairs = 1.0;
  for (const int64_t size : {call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2)})
    pairs *= static_cast<double>(size);
  const int64_t available = call.query.device().available_bytes();
  if (pairs * per_pair.peak <= static_cast<double>(available)) return;
  const std::string matrix = bytes_text(pairs * per_pair.matrix);
  const std::string free = base::format_bytes(available);
  if (pairs * per_pair.matrix > static_cast<double>(available)) {
    reasons.push_back(fmt::format("the score matrix takes {} and the device has {} free", matrix, free));
  } else {
    reasons.push_back(
        fmt::format("the score matrix takes {}, its steps hold {} at once, and the device has {} free",
                    matrix, bytes_text(pairs * per_pair.peak), free));
  }
}

}  // namespace hunch::attention
