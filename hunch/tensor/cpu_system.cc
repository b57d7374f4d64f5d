// Reads /proc and the control group. Every file is optional: what cannot be read does not limit.
// Control groups count the page cache as used; the part of it that is inactive is given back on demand, so
// it is counted as available.
#include "hunch/tensor/cpu_system.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

#include "hunch/base/strings.h"

namespace hunch::tensor {
namespace {

// The number after `key` in a file of "key value" or "key: value kB" lines.
std::optional<int64_t> field(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = std::string_view(line).substr(key.size());
    if (rest.starts_with(':')) rest.remove_prefix(1);
    rest = base::trim(rest);
    const bool kilo = rest.ends_with(" kB");
    if (kilo) rest.remove_suffix(3);
    if (const auto value = base::parse_int(base::trim(rest))) return kilo ? *value * 1024 : *value;
  }
  return std::nullopt;
}

std::optional<int64_t> number(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return base::parse_int(base::trim(line));  // "max" is no limit
}

struct Group {
  std::optional<int64_t> limit;
  std::optional<int64_t> used;
};

Group control_group() {
  Group group{number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory.current")};
  auto inactive = field("/sys/fs/cgroup/memory.stat", "inactive_file");
  if (!group.limit && !group.used) {  // version 1
    group = {number("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
             number("/sys/fs/cgroup/memory/memory.usage_in_bytes")};
    inactive = field("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file");
  }
  if (group.used && inactive) group.used = std::max<int64_t>(0, *group.used - *inactive);
  return group;
}

}  // namespace

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    return std::string(base::trim(std::string_view(line).substr(colon + 1)));
  }
  utsname names{};
  return uname(&names) == 0 ? std::string(names.machine) + " CPU" : "CPU";
}

int64_t system_memory_bytes() {
  int64_t total = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (const auto limit = control_group().limit) total = std::min(total, *limit);
  return total;
}

int64_t system_available_bytes() {
  int64_t available = field("/proc/meminfo", "MemAvailable").value_or(0);
  const Group group = control_group();
  if (group.limit && group.used)
    available = std::min(available, std::max<int64_t>(0, *group.limit - *group.used));
  return available;
}

}  // namespace hunch::tensor
