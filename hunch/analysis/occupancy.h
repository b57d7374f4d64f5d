// Theoretical occupancy of a kernel from its registers, shared memory and block on its device, by the rules
// of the CUDA programming guide with the opt-in shared-memory limit; profilers that use the default 48 KiB
// limit report a wrong 0 above it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>

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

// The same for one launch after another: launches that are alike are worked out once.
class Occupancies {
 public:
  explicit Occupancies(const trace::Trace& trace) : trace_(trace) {}
  // Nothing also where the trace does not describe the device.
  const std::optional<Occupancy>& of(const trace::DeviceDetail& kernel);

 private:
  struct Key {
    int32_t device, registers;
    int64_t shared_bytes;
    std::array<uint32_t, 3> grid, block;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  const trace::Trace& trace_;
  std::unordered_map<Key, std::optional<Occupancy>, Hash> known_;
};

}  // namespace hunch::analysis
