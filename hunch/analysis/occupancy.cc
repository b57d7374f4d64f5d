// The occupancy arithmetic of NVIDIA's programming guide, from compute capability 5.0 to 12.x: how many
// blocks each resource of a multiprocessor has room for, and which has the least. See occupancy.h.
#include "hunch/analysis/occupancy.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hunch::analysis {
namespace {

constexpr int64_t kRegisterUnit = 256;  // registers are handed to a warp in steps of this
constexpr int64_t kNoLimit = INT64_MAX;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// What device properties do not carry and depends on the architecture; blocks 0: not known.
struct Architecture {
  int64_t blocks = 0;           // most per multiprocessor
  int64_t shared_unit = 0;      // bytes; shared memory is handed out in steps of this
  int64_t reserved_shared = 0;  // bytes of each block that the driver keeps
  int64_t schedulers = 4;       // the register file is split in as many parts
};

Architecture architecture_of(int major, int minor) {
  switch (major) {
    case 5:
      return {32, 256, 0, 4};
    case 6:
      return {32, 256, 0, minor == 0 ? 2 : 4};
    case 7:
      return {minor == 5 ? 16 : 32, 256, 0, 4};
    case 8:
      return {minor == 0 ? 32 : minor == 9 ? 24 : 16, 128, 1024, 4};
    case 9:
      return {32, 128, 1024, 4};
    case 10:
      return {minor == 1 ? 24 : 32, 128, 1024, 4};
    case 11:
    case 12:
      return {24, 128, 1024, 4};
    default:
      return {};
  }
}

}  // namespace

std::optional<Occupancy> compute_occupancy(const trace::DeviceDetail& kernel,
                                           const trace::DeviceProperties& device) {
  // Multiprocessors of other makers (warps of 64) have rules of their own.
  if (device.is_cpu || device.warp_size != 32) return std::nullopt;
  const Architecture architecture = architecture_of(device.compute_major, device.compute_minor);
  const int64_t threads = int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
  if (architecture.blocks == 0 || threads <= 0 || threads > 1024) return std::nullopt;
  if (kernel.registers <= 0 || kernel.registers > 255 || kernel.shared_bytes < 0) return std::nullopt;
  if (device.max_threads_per_multiprocessor <= 0 || device.registers_per_multiprocessor <= 0 ||
      device.shared_bytes_per_multiprocessor <= 0)
    return std::nullopt;

  const int64_t max_warps = device.max_threads_per_multiprocessor / 32;
  const int64_t warps = round_up(threads, 32) / 32;

  const int64_t registers_of_warp = round_up(int64_t{kernel.registers} * 32, kRegisterUnit);
  const int64_t warps_of_scheduler =
      device.registers_per_multiprocessor / architecture.schedulers / registers_of_warp;
  const int64_t by_registers = warps_of_scheduler * architecture.schedulers / warps;

  const int64_t shared =
      round_up(kernel.shared_bytes + architecture.reserved_shared, architecture.shared_unit);
  const int64_t limit = device.shared_bytes_per_block_optin > 0
                            ? device.shared_bytes_per_block_optin
                            : device.shared_bytes_per_multiprocessor - architecture.reserved_shared;
  if (kernel.shared_bytes > limit) return std::nullopt;  // no launch of it can have worked: wrong data
  const int64_t by_shared = shared == 0 ? kNoLimit : device.shared_bytes_per_multiprocessor / shared;
  const int64_t by_threads = max_warps / warps;

  struct Limit {
    std::string_view name;
    int64_t blocks;
  };
  const std::array limits = {Limit{"registers", by_registers}, Limit{"shared memory", by_shared},
                             Limit{"threads", by_threads}, Limit{"blocks", architecture.blocks}};
  int64_t blocks = kNoLimit;
  for (const Limit& each : limits) blocks = std::min(blocks, each.blocks);
  if (blocks <= 0) return std::nullopt;

  Occupancy occupancy;
  occupancy.blocks_per_multiprocessor = static_cast<int>(blocks);
  for (const Limit& each : limits)
    if (each.blocks == blocks)
      occupancy.limited_by += (occupancy.limited_by.empty() ? "" : "+") + std::string(each.name);
  const auto percent = [&](double resident_blocks) {
    return 100.0 * resident_blocks * static_cast<double>(warps) / static_cast<double>(max_warps);
  };
  occupancy.theoretical_pct = percent(static_cast<double>(blocks));
  occupancy.grid_limited_pct = occupancy.theoretical_pct;
  const double grid = static_cast<double>(kernel.grid[0]) * kernel.grid[1] * kernel.grid[2];
  if (grid > 0 && device.multiprocessors > 0)
    occupancy.grid_limited_pct =
        percent(std::min(static_cast<double>(blocks), grid / device.multiprocessors));
  return occupancy;
}

std::size_t Occupancies::Hash::operator()(const Key& key) const {
  uint64_t hash = static_cast<uint64_t>(key.device) << 32 ^ static_cast<uint32_t>(key.registers);
  const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 0xD1B54A32D192ED03u ^ hash >> 29; };
  mix(static_cast<uint64_t>(key.shared_bytes));
  for (const uint32_t size : key.grid) mix(size);
  for (const uint32_t size : key.block) mix(size);
  return hash ^ hash >> 32;
}

const std::optional<Occupancy>& Occupancies::of(const trace::DeviceDetail& kernel) {
  const Key key{kernel.device, kernel.registers, kernel.shared_bytes, kernel.grid, kernel.block};
  const auto [at, fresh] = known_.try_emplace(key);
  if (const auto* device = trace_.device(kernel.device); fresh && device != nullptr)
    at->second = compute_occupancy(kernel, *device);
  return at->second;
}

}  // namespace hunch::analysis
