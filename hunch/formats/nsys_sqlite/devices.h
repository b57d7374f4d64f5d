// The GPUs of an export, and which of them a process means by its CUDA device number.
//
// In:  TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE. Out: device properties in the builder; what is not said is
// 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "hunch/formats/nsys_sqlite/database.h"
#include "hunch/trace/builder.h"

namespace hunch::formats::nsys_sqlite {

class Devices {
 public:
  base::Status read(const Database& database, trace::TraceBuilder& builder);

  // The GPU's own number, which is the same for all processes, where the file tells; else the CUDA number.
  std::optional<int64_t> gpu(std::optional<int64_t> global_pid, std::optional<int64_t> cuda_device) const;

 private:
  std::map<std::pair<int64_t, int64_t>, int64_t> gpus_;  // by process id and CUDA number
};

}  // namespace hunch::formats::nsys_sqlite
