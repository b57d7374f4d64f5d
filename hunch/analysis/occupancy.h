// Theoretical occupancy of a kernel from its registers, shared memory and block on its device, by the rules
// of the CUDA programming guide with the opt-in shared-memory limit; profilers that use the default 48 KiB
// limit report a wrong 0 above it.
#pragma once

#include <optional>
#include <string>

#include "hunch/trace/trace.h"

namespace hunch::analysis {

struct Occupancy {
  double theoretical_pct = 0;   // active warps over the most that a multiprocessor holds, unlimited grid
  double grid_limited_pct = 0;  // the same with this launch's grid: less where it does not fill the device
  int blocks_per_multiprocessor = 0;
  std::string limited_by;  // "registers", "shared memory", "threads", "blocks"; several joined by "+"
};

// Nothing where the trace lacks a needed field or the device is unknown.
std::optional<Occupancy> compute_occupancy(const trace::DeviceDetail& kernel,
                                           const trace::DeviceProperties& device);

}  // namespace hunch::analysis
