// The door to the device tracer, in every build.
#include "hunch/record/device_tracer.h"

#if HUNCH_HAS_CUDA
#include "hunch/record/cupti/tracer.h"
#endif

namespace hunch::record {

const char* const kWithoutTracer =
    "without CUPTI, times come from events around each launch of hunch's own: what a library launches inside "
    "counts as one kernel, and registers, shared memory, occupancy and the host's calls into CUDA are not "
    "known";

base::Result<std::unique_ptr<DeviceTracer>> open_device_tracer() {
#if HUNCH_HAS_CUDA
  return cupti::open_tracer();
#else
  return base::fail(base::ErrorCode::environment, "this build has no CUDA, so no tracer of CUDA devices",
                    "a build with CUDA: CMake finds nvcc, or -DHUNCH_CUDA=ON");
#endif
}

}  // namespace hunch::record
