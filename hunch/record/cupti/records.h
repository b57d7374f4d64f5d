// From CUPTI's activity records to plain data. Calls are no records: call_log.h has them.
//
// In:  records in CUPTI's buffers, in the layouts of CUDA 12 and 13, whose fields that are read here lie in
// the same places. Out: a DeviceActivity grows. Holds: kernel names are demangled, each name once; names of
// copies, memsets, waits and overheads are torch.profiler's; records of no interest are passed over.
#pragma once

#include <cupti.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "hunch/record/device_tracer.h"

namespace hunch::record::cupti {

class RecordReader {
 public:
  explicit RecordReader(uint32_t version) : version_(version) {}

  void read(const CUpti_Activity* record, DeviceActivity& activity);
  // The device of a context that had work; 0 where none was seen.
  int32_t device_of_context(int64_t context) const;

 private:
  void kernel(const CUpti_Activity* record, DeviceActivity& activity);
  void memset(const CUpti_Activity* record, DeviceActivity& activity);
  void synchronization(const CUpti_Activity* record, DeviceActivity& activity);
  void overhead(const CUpti_Activity* record, DeviceActivity& activity);
  void keep(const TracedWork& work, DeviceActivity& activity);
  std::string_view demangled(const char* name);

  const uint32_t version_;
  std::unordered_map<std::string, std::string> demangled_;  // by mangled name
  std::unordered_map<int64_t, int32_t> device_of_context_;
};

}  // namespace hunch::record::cupti
