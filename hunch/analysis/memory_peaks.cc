// A step function per process, and the highest step of each block of it; see memory_peaks.h.
#include "hunch/analysis/memory_peaks.h"

#include <algorithm>
#include <numeric>

#include "hunch/analysis/natural_sort.h"

namespace hunch::analysis {
namespace {

// A file may say any number of bytes: what does not fit stays at the limit.
int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}
int64_t minus(int64_t a, int64_t b) {
  int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

// Of all processes: each new one is added to all moments before.
constexpr std::size_t kMostDevices = 1024;

}  // namespace

MemoryPeaks::MemoryPeaks(const trace::Trace& trace, const Processes& processes) {
  std::vector<uint32_t> order(trace.memory.size()), scratch;
  std::iota(order.begin(), order.end(), 0);
  natural_sort(std::span<uint32_t>(order), scratch, [&trace](uint32_t a, uint32_t b) {
    return trace.memory[a].time != trace.memory[b].time ? trace.memory[a].time < trace.memory[b].time : a < b;
  });

  // Each event tells its device's total; the sum over devices is what the process has in use.
  std::map<std::pair<uint32_t, int32_t>, int64_t> in_use;
  for (const uint32_t i : order) {
    const auto& event = trace.memory[i];
    if (event.device < 0) continue;
    const uint32_t process = processes.of_track[event.track];
    if (in_use.size() >= kMostDevices && !in_use.contains({process, event.device})) continue;
    Series& series = series_[process];
    const auto [device, first] = in_use.emplace(std::pair(process, event.device), 0);
    int64_t change = minus(event.in_use_bytes, device->second);
    if (first) {  // what it had before its first event, it had all along
      const int64_t before = minus(event.in_use_bytes, event.delta_bytes);
      series.before = plus(series.before, before);
      for (int64_t& bytes : series.bytes) bytes = plus(bytes, before);
      change = event.delta_bytes;
    }
    device->second = event.in_use_bytes;
    series.bytes.push_back(plus(series.bytes.empty() ? series.before : series.bytes.back(), change));
    series.times.push_back(event.time);
  }
  for (auto& [process, series] : series_)
    for (std::size_t begin = 0; begin < series.bytes.size(); begin += kBlock) {
      const auto first = series.bytes.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = first + static_cast<std::ptrdiff_t>(std::min(kBlock, series.bytes.size() - begin));
      series.block_peaks.push_back(*std::max_element(first, last));
    }
}

int64_t MemoryPeaks::Series::highest(std::size_t begin, std::size_t end) const {
  int64_t peak = INT64_MIN;
  while (begin < end) {
    if (begin % kBlock == 0 && begin + kBlock <= end) {
      peak = std::max(peak, block_peaks[begin / kBlock]);
      begin += kBlock;
    } else {
      peak = std::max(peak, bytes[begin++]);
    }
  }
  return peak;
}

std::optional<int64_t> MemoryPeaks::peak(uint32_t process, Ns start, Ns end) const {
  const auto found = series_.find(process);
  if (found == series_.end()) return std::nullopt;
  const Series& series = found->second;
  // What happens at the very start of the run is the run's: it begins with what was there before.
  const auto begin = std::lower_bound(series.times.begin(), series.times.end(), start) - series.times.begin();
  const auto stop = std::upper_bound(series.times.begin(), series.times.end(), end) - series.times.begin();
  const int64_t before = begin == 0 ? series.before : series.bytes[static_cast<std::size_t>(begin) - 1];
  if (begin >= stop) return 0;
  return std::max<int64_t>(
      0, minus(series.highest(static_cast<std::size_t>(begin), static_cast<std::size_t>(stop)), before));
}

std::optional<int64_t> MemoryPeaks::whole_peak() const {
  std::optional<int64_t> peak;
  for (const auto& [process, series] : series_) {
    const int64_t own = std::max<int64_t>(0, minus(series.highest(0, series.bytes.size()), series.before));
    peak = std::max(peak.value_or(0), own);
  }
  return peak;
}

}  // namespace hunch::analysis
