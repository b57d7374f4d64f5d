// How much device memory a run took beyond what was in use when it began, from the allocator's own events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hunch/analysis/timeline.h"

namespace hunch::analysis {

class MemoryPeaks {
 public:
  MemoryPeaks(const trace::Trace& trace, const Processes& processes);

  // The most in use at any time in [start, end] less what was in use at `start`, over all devices of the
  // process (host memory, device below 0, left out). 0 where the run only freed; nothing where the process
  // has no memory events. O(log n + n / 256).
  std::optional<int64_t> peak(uint32_t process, Ns start, Ns end) const;

  // The same over the whole recording, of the process that has the most.
  std::optional<int64_t> whole_peak() const;

 private:
  // What a process has in use, as a step function: from times[i] on it is bytes[i].
  struct Series {
    int64_t before = 0;  // until times[0]
    std::vector<Ns> times;
    std::vector<int64_t> bytes;
    std::vector<int64_t> block_peaks;  // of kBlock entries each
    int64_t highest(std::size_t begin, std::size_t end) const;
  };
  static constexpr std::size_t kBlock = 256;

  std::map<uint32_t, Series> series_;  // by process
};

}  // namespace hunch::analysis
