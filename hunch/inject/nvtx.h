// The program's own ranges: what it tells NVTX, logged on the thread that tells it.
//
// In:  the calls of every copy of NVTX in the process (each library that uses it has its own), which hands
// its table of functions to attach(). Out: RangeEvents by take(). Holds: ranges told before the process first
// uses CUDA are kept, up to a bound a thread, since a process may use NVTX long before or never CUDA.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hunch/record/spool/spool.h"

namespace hunch::inject {

// What was told since the last time; the events' texts lie in `texts`, those of a thread are in order.
struct TakenRanges {
  std::vector<record::spool::RangeEvent> events;
  std::vector<std::string> texts;
  std::map<int64_t, std::string> threads;  // names that the program gave
  uint64_t dropped = 0;                    // for which there was no room
};

// Puts hunch's functions into NVTX's table. `get_export_table` is what NVTX gives to an injection.
bool attach_nvtx(const void* (*get_export_table)(uint32_t));

TakenRanges take_ranges();
// In the child of a fork: forgets what the parent had told.
void restart_ranges();

}  // namespace hunch::inject
