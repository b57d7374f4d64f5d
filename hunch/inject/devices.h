// The devices and the driver's version, asked of the driver that the process has loaded; and waiting for what
// still runs.
#pragma once

#include <cuda.h>

#include <vector>

#include "hunch/trace/trace.h"

namespace hunch::inject {

class Driver {
 public:
  Driver();  // without the driver's library everything below is empty

  std::vector<trace::DeviceProperties> devices() const;
  int version() const;  // 13000; 0: not known

  CUcontext current() const;  // of this thread; null: none
  // Waits for all work of `context` and of the contexts that the runtime uses.
  void wait(CUcontext context) const;

 private:
  void wait_for(CUcontext context) const;

  decltype(&::cuDeviceGetCount) count_ = nullptr;
  decltype(&::cuDeviceGet) get_ = nullptr;
  decltype(&::cuDeviceGetName) name_ = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute_ = nullptr;
  CUresult (*memory_)(size_t*, CUdevice) = nullptr;
  decltype(&::cuDriverGetVersion) version_ = nullptr;
  decltype(&::cuCtxGetCurrent) current_ = nullptr;
  decltype(&::cuCtxSetCurrent) set_current_ = nullptr;
  CUresult (*synchronize_)() = nullptr;
  decltype(&::cuDevicePrimaryCtxGetState) primary_state_ = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) primary_ = nullptr;
};

}  // namespace hunch::inject
