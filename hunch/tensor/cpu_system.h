// What the operating system says about this machine's CPU and memory, with a container's limits applied.
#pragma once

#include <cstdint>
#include <string>

namespace hunch::tensor {

std::string cpu_model();           // "AMD EPYC 7763 64-Core Processor"; the architecture where it is not told
int64_t system_memory_bytes();     // total, or the control group's limit where that is less
int64_t system_available_bytes();  // what a new allocation could get without swapping; 0 where not told

}  // namespace hunch::tensor
