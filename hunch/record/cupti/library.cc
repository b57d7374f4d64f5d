// Finding and opening libcupti, and saying in words what its errors ask of a person. See library.h.
#include "hunch/record/cupti/library.h"

#include "hunch/base/nvidia_libraries.h"
#include "hunch/base/shared_library.h"

namespace hunch::record::cupti {
namespace {

base::Result<Library> open() {
  auto opened = base::SharedLibrary::open(base::nvidia::cupti(), base::cuda_library_folders());
  if (!opened)
    return base::fail(base::ErrorCode::environment, "CUPTI is not there: " + opened.error().message,
                      "install the CUDA toolkit's CUPTI, or put the folder of libcupti.so.13 into "
                      "LD_LIBRARY_PATH (PyTorch's wheels have it in nvidia/cu13/lib)");
  Library found;
  found.file = opened->name();
  const char* missing = nullptr;
#define HUNCH_CUPTI_FIND(name) found.name = opened->function<decltype(::name)>(#name);
#define HUNCH_CUPTI_DEMAND(name) \
  HUNCH_CUPTI_FIND(name)         \
  if (found.name == nullptr) missing = #name;
  HUNCH_CUPTI_REQUIRED(HUNCH_CUPTI_DEMAND)
  HUNCH_CUPTI_OPTIONAL(HUNCH_CUPTI_FIND)
#undef HUNCH_CUPTI_DEMAND
#undef HUNCH_CUPTI_FIND
  if (missing != nullptr)
    return base::fail(base::ErrorCode::environment, found.file + " has no " + missing,
                      "CUPTI of CUDA 12 or 13");
  HUNCH_RETURN_IF_ERROR(found.checked(found.cuptiGetVersion(&found.version), "cuptiGetVersion"));
  return found;
}

std::string remedy_for(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "run as root, or have the administrator load the driver with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "run without the other profiler, debugger or sanitizer that traces this process";
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "a driver that is as new as CUPTI, or a CUPTI as old as the driver";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "a device that may be traced: this one may not, as it is set up";
    default:
      return "nvidia-smi tells whether the driver and the device work";
  }
}

}  // namespace

base::Status Library::checked(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return {};
  const char* name = nullptr;
  cuptiGetResultString(result, &name);
  std::string message = std::string(call) + " failed: " +
                        (name != nullptr ? name : "error " + std::to_string(static_cast<int>(result)));
  const char* words = nullptr;
  if (cuptiGetErrorMessage != nullptr && cuptiGetErrorMessage(result, &words) == CUPTI_SUCCESS &&
      words != nullptr && *words != '\0' && (name == nullptr || std::string(words) != name))
    message += std::string(" (") + words + ")";
  return base::fail(base::ErrorCode::environment, message, remedy_for(result));
}

const base::Result<Library>& library() {
  static const base::Result<Library> opened = open();
  return opened;
}

}  // namespace hunch::record::cupti
