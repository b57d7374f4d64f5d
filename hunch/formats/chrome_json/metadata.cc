#include "hunch/formats/chrome_json/metadata.h"

#include <limits>
#include <string>

#include "hunch/formats/chrome_json/event_decoder.h"
#include "hunch/formats/chrome_json/numbers.h"
#include "hunch/formats/chrome_json/text.h"
#include "hunch/formats/chrome_json/token_walker.h"

namespace hunch::formats::chrome_json {
namespace {

constexpr std::size_t kMaxEntries = 256;  // of metadata kept
constexpr std::size_t kMaxText = 4096;    // bytes of one of them
constexpr std::size_t kMaxDevices = 1024;

std::string plain(std::string_view token) {
  if (!is_string(token)) return std::string(token);
  std::string scratch;
  TextRepairs repairs;
  return std::string(unescape(inside(token), scratch, repairs));
}

template <class Int>
void set(std::string_view token, Int& to) {
  const auto value = parse_signed(token);
  if (value && *value >= 0 && *value <= std::numeric_limits<Int>::max()) to = static_cast<Int>(*value);
}

void set_device_member(trace::DeviceProperties& device, std::string_view key, std::string_view token) {
  if (key == "id") return set(token, device.id);
  if (key == "name") device.name = plain(token);
  if (key == "computeMajor") return set(token, device.compute_major);
  if (key == "computeMinor") return set(token, device.compute_minor);
  if (key == "numSms") return set(token, device.multiprocessors);
  if (key == "warpSize") return set(token, device.warp_size);
  if (key == "maxThreadsPerBlock") return set(token, device.max_threads_per_block);
  if (key == "maxThreadsPerMultiprocessor") return set(token, device.max_threads_per_multiprocessor);
  if (key == "regsPerMultiprocessor") return set(token, device.registers_per_multiprocessor);
  if (key == "sharedMemPerBlock") return set(token, device.shared_bytes_per_block);
  if (key == "sharedMemPerBlockOptin") return set(token, device.shared_bytes_per_block_optin);
  if (key == "sharedMemPerMultiprocessor" || key == "maxSharedMemoryPerMultiProcessor")
    return set(token, device.shared_bytes_per_multiprocessor);
  if (key == "totalGlobalMem") return set(token, device.memory_bytes);
  if (key == "hunchDeviceKind") device.is_cpu = plain(token) == "cpu";
}

}  // namespace

void Metadata::member(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (key == "baseTimeNanoseconds") {
    const auto base = parse_signed(value);
    if (base && *base >= -EventDecoder::kMaxTime && *base <= EventDecoder::kMaxTime) {
      base_time_ = *base;
    } else {
      builder_.warn("baseTimeNanoseconds is no time, times are read as absolute");
    }
  } else if (key == "deviceProperties") {
    devices(value);
  } else if (key == "distributedInfo") {
    distributed(value);
  } else if (value.front() != '{' && value.front() != '[') {
    keep(key, value);
  }
}

void Metadata::keep(std::string_view key, std::string_view value) {
  auto& kept = builder_.trace().metadata;
  if (kept.size() < kMaxEntries && key.size() <= kMaxText && value.size() <= kMaxText)
    kept[plain(key)] = plain(value);
}

void Metadata::devices(std::string_view value) {
  bool sound = index_.index(value);
  if (sound) {
    const TokenWalker walker(value, index_.tokens());
    const uint32_t behind = walker.elements(0, [&](uint32_t first, uint32_t) {
      if (walker.kind(first) != '{' || builder_.trace().devices.size() >= kMaxDevices) return;
      trace::DeviceProperties device;
      walker.members(first, [&](std::string_view key, uint32_t at) {
        set_device_member(device, key, walker.text(at));
        return walker.skip(at);
      });
      builder_.trace().devices.push_back(std::move(device));
    });
    sound = !TokenWalker::failed(behind);
  }
  if (!sound) builder_.warn("deviceProperties cannot be read: occupancies cannot be worked out");
}

void Metadata::distributed(std::string_view value) {
  if (!index_.index(value)) return;
  const TokenWalker walker(value, index_.tokens());
  walker.members(0, [&](std::string_view key, uint32_t first) {
    const uint32_t behind = walker.skip(first);
    if (behind == first + 1) keep("distributedInfo." + std::string(key), walker.text(first));
    return behind;
  });
}

}  // namespace hunch::formats::chrome_json
