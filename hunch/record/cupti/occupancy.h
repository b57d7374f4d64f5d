// How many blocks of each launched kernel fit a multiprocessor, by the driver's own calculator.
//
// In:  the driver's launch calls, as CUPTI's callbacks tell them on the thread that launches. Out: blocks by
// correlation. Holds: the calculator is asked once a function, block size and dynamic shared memory, while
// the launch is under way, when the function is sure to be loaded; a launch after that costs a look-up.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace hunch::record::cupti {

class DriverOccupancy {
 public:
  DriverOccupancy();  // opens the driver's library; without it no blocks are known

  // The launches of which `launch` must be told, on entry.
  static const std::vector<CUpti_CallbackId>& launches();
  void launch(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // Functions may go away, and their handles be used again.
  void forget() { generation_.fetch_add(1, std::memory_order_relaxed); }

  // Blocks by correlation, of all launches since the last call.
  std::unordered_map<uint32_t, int32_t> take();

 private:
  struct Launch {
    uint32_t correlation;
    int32_t blocks;
  };
  struct ThreadLog;
  using Calculator = CUresult(int* blocks, CUfunction function, int block, std::size_t dynamic_shared);

  ThreadLog& log_of_thread();
  int32_t ask(CUfunction function, int block, std::size_t dynamic_shared) const;

  Calculator* calculator_ = nullptr;
  std::atomic<uint64_t> generation_{1};
  std::mutex mutex_;  // guards logs_
  std::vector<std::shared_ptr<ThreadLog>> logs_;
};

}  // namespace hunch::record::cupti
