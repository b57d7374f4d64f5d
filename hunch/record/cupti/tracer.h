// The tracer of NVIDIA GPUs: CUPTI's Activity API, stamped with hunch's own clock.
//
// In:  CUDA calls of this process. Out: a DeviceTracer. Holds: one at a time, since CUPTI serves one client;
// what libraries launch is seen as well as what hunch launches; buffers come back to a pool.
#pragma once

#include <memory>

#include "hunch/base/result.h"
#include "hunch/record/device_tracer.h"

namespace hunch::record::cupti {

// Error: environment, with CUPTI's own words.
base::Result<std::unique_ptr<DeviceTracer>> open_tracer();

}  // namespace hunch::record::cupti
