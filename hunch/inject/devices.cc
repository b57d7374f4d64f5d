// Every function by its name, and each allowed to be missing. See devices.h.
#include "hunch/inject/devices.h"

#include "hunch/base/nvidia_libraries.h"
#include "hunch/base/shared_library.h"

namespace hunch::inject {

Driver::Driver() {
  const auto library = base::SharedLibrary::open(base::nvidia::driver());
  if (!library) return;
  const auto find = [&](auto& function, const char* name) {
    function = library->function<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(name);
  };
  find(count_, "cuDeviceGetCount");
  find(get_, "cuDeviceGet");
  find(name_, "cuDeviceGetName");
  find(attribute_, "cuDeviceGetAttribute");
  find(memory_, "cuDeviceTotalMem_v2");
  find(version_, "cuDriverGetVersion");
  find(current_, "cuCtxGetCurrent");
  find(set_current_, "cuCtxSetCurrent");
  find(synchronize_, "cuCtxSynchronize");
  find(primary_state_, "cuDevicePrimaryCtxGetState");
  find(primary_, "cuDevicePrimaryCtxRetain");
}

std::vector<trace::DeviceProperties> Driver::devices() const {
  std::vector<trace::DeviceProperties> all;
  int count = 0;
  if (count_ == nullptr || get_ == nullptr || attribute_ == nullptr || count_(&count) != CUDA_SUCCESS)
    return all;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    if (get_(&device, i) != CUDA_SUCCESS) continue;
    const auto attribute = [&](CUdevice_attribute which) {
      int value = 0;
      return attribute_(&value, which, device) == CUDA_SUCCESS ? value : 0;
    };
    trace::DeviceProperties found;
    found.id = i;
    char name[256] = {};
    if (name_ != nullptr && name_(name, sizeof name - 1, device) == CUDA_SUCCESS) found.name = name;
    found.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    found.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    found.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    found.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    found.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    found.max_threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    found.registers_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    found.shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    found.shared_bytes_per_block_optin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    found.shared_bytes_per_multiprocessor =
        attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    std::size_t bytes = 0;
    if (memory_ != nullptr && memory_(&bytes, device) == CUDA_SUCCESS)
      found.memory_bytes = static_cast<int64_t>(bytes);
    all.push_back(std::move(found));
  }
  return all;
}

int Driver::version() const {
  int version = 0;
  return version_ != nullptr && version_(&version) == CUDA_SUCCESS ? version : 0;
}

CUcontext Driver::current() const {
  CUcontext context = nullptr;
  return current_ != nullptr && current_(&context) == CUDA_SUCCESS ? context : nullptr;
}

void Driver::wait_for(CUcontext context) const {
  if (context == nullptr || set_current_ == nullptr || synchronize_ == nullptr) return;
  if (set_current_(context) == CUDA_SUCCESS) synchronize_();
}

void Driver::wait(CUcontext context) const {
  wait_for(context);
  int count = 0;
  if (count_ == nullptr || get_ == nullptr || primary_state_ == nullptr || primary_ == nullptr ||
      count_(&count) != CUDA_SUCCESS)
    return;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    unsigned int flags = 0;
    int active = 0;
    CUcontext primary = nullptr;
    // One that is not in use must not be made. It is not given back: the process is ending.
    if (get_(&device, i) == CUDA_SUCCESS && primary_state_(device, &flags, &active) == CUDA_SUCCESS &&
        active != 0 && primary_(&primary, device) == CUDA_SUCCESS && primary != context)
      wait_for(primary);
  }
}

}  // namespace hunch::inject
