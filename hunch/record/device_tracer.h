// A device's own tracer: what its driver records of the calls that a program makes and of the work that they
// cause, handed over as plain data. record/cupti implements it for NVIDIA GPUs; tests implement it by hand.
//
// Holds: all times are of base::now_ns, as the Recorder's own; names live in `names`. Correlations join work
// and external ids with calls. A runtime call and the driver call inside it share one correlation.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hunch/base/clock.h"
#include "hunch/base/probe.h"
#include "hunch/base/result.h"
#include "hunch/trace/string_pool.h"

namespace hunch::record {

struct ApiCall {
  bool driver = false;  // of the driver's interface; else of the runtime's
  trace::StringId name = 0;
  int64_t tid = 0;  // the system's
  base::Ns start = 0;
  base::Ns end = 0;
  uint32_t correlation = 0;
  int32_t result = 0;          // 0: success
  int32_t driver_blocks = -1;  // launches: by the driver's occupancy calculator; -1: not asked
  uint64_t external = 0;       // the id that a span had pushed when the call began; 0: none
};

struct TracedWork {
  base::WorkKind kind = base::WorkKind::kernel;
  trace::StringId name = 0;
  base::Ns start = 0;
  base::Ns end = 0;
  uint32_t correlation = 0;
  int32_t device = 0;
  int64_t context = -1;
  int64_t stream = -1;
  int64_t bytes = -1;          // copies and memsets
  int64_t graph_id = -1;       // -1: not launched by a graph
  int64_t graph_node_id = -1;  // likewise
  // Kernels.
  int32_t registers = -1;
  int64_t static_shared_bytes = -1;
  int64_t dynamic_shared_bytes = -1;
  std::array<uint32_t, 3> grid = {0, 0, 0};
  std::array<uint32_t, 3> block = {0, 0, 0};
  std::array<uint32_t, 3> cluster = {0, 0, 0};  // 0: launched without clusters
  bool shared_optin = false;                    // the function asked for more than the default limit
};

// A host's wait for a stream, an event or the whole context.
struct Synchronization {
  trace::StringId name = 0;
  base::Ns start = 0;
  base::Ns end = 0;
  uint32_t correlation = 0;
  int32_t device = 0;
  int64_t stream = -1;  // -1: of no one stream
};

// Time that the tracer or the driver spent on their own account: buffers, lazy loading, compilation.
struct Overhead {
  trace::StringId name = 0;
  base::Ns start = 0;
  base::Ns end = 0;
  int64_t tid = -1;  // -1: of no one thread
};

struct DeviceActivity {
  trace::StringPool names;
  std::vector<ApiCall> calls;
  std::vector<TracedWork> work;
  std::vector<Synchronization> synchronizations;
  std::vector<Overhead> overheads;
  uint64_t lost = 0;                            // records that the tracer had no room for
  uint64_t untimed = 0;                         // pieces of device work without times, left out of `work`
  std::map<std::string, std::string> metadata;  // versions, as torch.profiler writes them
  std::vector<std::string> warnings;
};

// One in a process at a time. All functions but push and pop are for one thread.
class DeviceTracer {
 public:
  virtual ~DeviceTracer() = default;

  // Collects from now on. May be called while collecting. Error: environment, where the driver refuses.
  virtual base::Status start() = 0;
  // What was collected since start or the last take; to be called when the device is idle, since work that
  // still runs may be lost.
  virtual DeviceActivity take() = 0;
  // Collects no more; what was not taken is dropped.
  virtual void stop() = 0;

  // Calls of this thread carry `external` until the pop; they nest.
  virtual void push(uint64_t external) = 0;
  virtual void pop() = 0;
};

// The tracer of this machine's CUDA devices. Errors: environment, saying why there is none (a build without
// CUDA, no library, no permission, another profiler) and what to do about it.
base::Result<std::unique_ptr<DeviceTracer>> open_device_tracer();

// What a recording lacks where CUDA devices are recorded without a tracer, as one sentence.
extern const char* const kWithoutTracer;

}  // namespace hunch::record
