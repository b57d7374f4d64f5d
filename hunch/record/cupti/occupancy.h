// How many blocks of each launched kernel fit a multiprocessor, by the driver's own calculator.
//
// In:  the driver's launch calls, as CUPTI's callbacks tell them on the thread that launches. Out: the
// blocks. Holds: the calculator is asked once a function, block size, dynamic shared memory and thread, while
// the launch is under way, when the function is sure to be loaded; a launch after that costs a look-up.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace hunch::record::cupti {

class DriverOccupancy {
 public:
  DriverOccupancy();  // opens the driver's library; without it no blocks are known

  // The launches that it knows.
  static const std::vector<CUpti_CallbackId>& launches();
  // On entry of one of them; -1 where the driver does not tell.
  int32_t blocks(CUpti_CallbackId id, const CUpti_CallbackData& call);
  // Functions may go away, and their handles be used again.
  void forget() { generation_.fetch_add(1, std::memory_order_relaxed); }

 private:
  using Calculator = CUresult(int* blocks, CUfunction function, int block, std::size_t dynamic_shared);

  int32_t ask(CUfunction function, int block, std::size_t dynamic_shared) const;

  Calculator* calculator_ = nullptr;
  std::atomic<uint64_t> generation_{1};
};

}  // namespace hunch::record::cupti
