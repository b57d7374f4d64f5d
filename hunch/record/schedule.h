// The step schedule of a recording, as in torch.profiler: `wait` steps unrecorded, `warmup` steps run as if
// recorded and dropped, `active` steps kept.
#pragma once

#include <cstdint>
#include <string_view>

#include "hunch/base/result.h"

namespace hunch::record {

struct Schedule {
  int wait = 1;
  int warmup = 1;
  int active = 3;
  int total() const { return wait + warmup + active; }
};

enum class Phase { wait, warmup, active };
Phase phase_of(const Schedule& schedule, int step);  // step in [0, total())

// "1,1,3"; each >= 0, active >= 1. Error: usage.
base::Result<Schedule> parse_schedule(std::string_view text);

}  // namespace hunch::record
