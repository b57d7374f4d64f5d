// What CUPTI's callbacks fill: the process's one collector of activity records.
//
// In:  buffers of records, on whatever thread CUPTI hands them back, and the log of calls. Out: a
// DeviceActivity by take(). Holds: it lives as long as the process, because CUPTI may call back at any time;
// buffers are zeroed and used again; a record is parsed once, when its buffer comes back, and dropped there
// while nothing is collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hunch/record/cupti/call_log.h"
#include "hunch/record/cupti/library.h"
#include "hunch/record/cupti/records.h"
#include "hunch/record/device_tracer.h"

namespace hunch::record::cupti {

class Collector {
 public:
  // Some ten thousand kernel records; large enough that a forward rarely waits for one.
  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20;

  explicit Collector(const Library& library, std::size_t buffer_bytes = kBufferBytes);
  // Made by the first call, whose size of buffers counts.
  static Collector& instance(const Library& library, std::size_t buffer_bytes = kBufferBytes);

  // Takes CUPTI for this process, and gives it back. Error: environment.
  base::Status subscribe();
  void unsubscribe();

  base::Status enable();
  void disable();
  void disable_waits();  // records of waits alone
  // What was recorded since the last take. `whole` also takes records of work that is not known to be done;
  // to be asked for when the device is idle.
  DeviceActivity take(bool whole);

  CallLog& calls() { return calls_; }
  const Library& library() const { return library_; }

 private:
  static void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records);
  static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                                        size_t valid);
  static void CUPTIAPI called(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  static uint64_t CUPTIAPI timestamp();

  struct Filled {
    uint8_t* buffer;
    std::size_t valid;
  };

  uint8_t* new_buffer() const;  // zeroed, and aligned for records
  uint8_t* buffer();
  std::vector<Filled> filled();  // those put aside since the last call
  void recycle(const Filled& filled);
  base::Status enable_callbacks(bool on);

  const Library& library_;
  const std::size_t buffer_bytes_;
  CallLog calls_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool collecting_ = false;

  RecordReader reader_;

  std::mutex mutex_;  // guards what follows
  std::vector<uint8_t*> pool_;
  std::vector<Filled> filled_;
};

}  // namespace hunch::record::cupti
