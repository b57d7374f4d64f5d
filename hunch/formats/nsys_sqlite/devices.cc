#include "hunch/formats/nsys_sqlite/devices.h"

#include <limits>

#include "hunch/formats/nsys_sqlite/processes.h"

namespace hunch::formats::nsys_sqlite {
namespace {

constexpr std::size_t kMaxDevices = 1024;

template <class Int>
void set(std::optional<int64_t> value, Int& to) {
  if (value && *value > 0 && *value <= std::numeric_limits<Int>::max()) to = static_cast<Int>(*value);
}

bool is_number(std::optional<int64_t> value) {
  return value && *value >= 0 && *value <= std::numeric_limits<int32_t>::max();
}

}  // namespace

base::Status Devices::read(const Database& database, trace::TraceBuilder& builder) {
  {
    HUNCH_ASSIGN(auto rows, Rows::of(database, "TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"}));
    while (true) {
      HUNCH_ASSIGN(const bool more, rows.next());
      if (!more) break;
      if (!rows.integer(0) || !is_number(rows.integer(1)) || !is_number(rows.integer(2))) continue;
      if (gpus_.size() < kMaxDevices * kMaxDevices)
        gpus_[{*rows.integer(0), *rows.integer(1)}] = *rows.integer(2);
    }
  }
  HUNCH_ASSIGN(auto rows,
               Rows::of(database, "TARGET_INFO_GPU",
                        {"id", "name", "computeMajor", "computeMinor", "smCount", "threadsPerWarp",
                         "maxThreadsPerBlock", "maxWarpsPerSm", "maxRegistersPerSm", "maxShmemPerBlock",
                         "maxShmemPerBlockOptin", "maxShmemPerSm", "totalMemory", "smMajor", "smMinor"}));
  while (true) {
    HUNCH_ASSIGN(const bool more, rows.next());
    if (!more) return {};
    auto& devices = builder.trace().devices;
    if (!is_number(rows.integer(0)) || devices.size() >= kMaxDevices) continue;
    trace::DeviceProperties device;
    device.id = static_cast<int32_t>(*rows.integer(0));
    if (builder.trace().device(device.id) != nullptr) continue;
    device.name = rows.text(1).value_or("");
    set(rows.integer(rows.integer(2) ? 2 : 13), device.compute_major);
    set(rows.integer(rows.integer(2) ? 3 : 14), device.compute_minor);
    set(rows.integer(4), device.multiprocessors);
    set(rows.integer(5), device.warp_size);
    set(rows.integer(6), device.max_threads_per_block);
    int32_t warps = 0;
    set(rows.integer(7), warps);
    if (warps > 0 && device.warp_size > 0 && warps < 4096 && device.warp_size < 4096)
      device.max_threads_per_multiprocessor = warps * device.warp_size;
    set(rows.integer(8), device.registers_per_multiprocessor);
    set(rows.integer(9), device.shared_bytes_per_block);
    set(rows.integer(10), device.shared_bytes_per_block_optin);
    set(rows.integer(11), device.shared_bytes_per_multiprocessor);
    set(rows.integer(12), device.memory_bytes);
    devices.push_back(std::move(device));
  }
}

std::optional<int64_t> Devices::gpu(std::optional<int64_t> global_pid,
                                    std::optional<int64_t> cuda_device) const {
  if (!is_number(cuda_device)) return std::nullopt;
  if (!global_pid) return cuda_device;
  // The table has plain process ids; some versions wrote the global one.
  for (const int64_t pid : {Processes::pid_of(*global_pid), *global_pid})
    if (const auto found = gpus_.find({pid, *cuda_device}); found != gpus_.end()) return found->second;
  return cuda_device;
}

}  // namespace hunch::formats::nsys_sqlite
