// The columnar Trace: what any recording or file becomes. One row an event, one array a property; names are
// interned; times are integer nanoseconds. Rows keep the order of their source, so a row's source_index
// finds the event in the file it came from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/base/clock.h"
#include "hunch/trace/string_pool.h"

namespace hunch::trace {

using base::Ns;
using EventId = uint32_t;  // a row
inline constexpr uint32_t kNone = UINT32_MAX;

enum class EventKind : uint8_t {
  op,            // cpu_op
  annotation,    // user_annotation, NVTX range
  step,          // ProfilerStep#N
  python_frame,  // python_function, nn.Module frames among them
  runtime_call,  // cuda_runtime, hip*, our own launch calls
  driver_call,   // cuda_driver
  kernel,        // device work from here on ...
  memcpy,
  memset,             // ... to here
  sync,               // cuda_sync
  device_annotation,  // gpu_user_annotation: a shadow of a range on the device, never work
  overhead,           // the profiler's own
  other,
};

inline bool is_device_work(EventKind kind) {
  return kind == EventKind::kernel || kind == EventKind::memcpy || kind == EventKind::memset;
}
inline bool is_api_call(EventKind kind) {
  return kind == EventKind::runtime_call || kind == EventKind::driver_call;
}
std::string_view name_of(EventKind kind);
// Whether an annotation of this name is a step of PyTorch's profiler: "ProfilerStep#12".
bool is_step_name(std::string_view name);

// Where events happen: a thread of a process, or a stream of a device.
struct Track {
  std::string pid;  // as in the source; may be text
  std::string tid;
  std::string name;     // thread or stream name, where known
  std::string process;  // process or device name, where known: "python", "GPU 0"
};

// What device work says of itself; -1 (or 0 for grid and block) where the source does not say.
struct DeviceDetail {
  int32_t device = -1;
  int64_t stream = -1;
  int64_t bytes = -1;          // copies and memsets
  int32_t registers = -1;      // per thread
  int32_t driver_blocks = -1;  // that fit a multiprocessor, by the driver's calculator; hunch's recordings
  int64_t shared_bytes = -1;   // per block, static and dynamic
  std::array<uint32_t, 3> grid = {0, 0, 0};
  std::array<uint32_t, 3> block = {0, 0, 0};
  float reported_occupancy_pct = -1;  // "est. achieved occupancy %"
  float blocks_per_sm = -1;
  float warps_per_sm = -1;
  int64_t graph_id = -1;
  int64_t graph_node_id = -1;
};

// What a host op says of itself.
struct OpDetail {
  StringId input_dims = kNone;  // the source's text, "[[8,16,1024,64],[]]"
  StringId input_types = kNone;
  // Of attention ops alone, whose choice of a backend they explain: the others' would be most of a trace.
  StringId input_values = kNone;   // "Concrete Inputs": ["","","","","0.","True","","False"]
  StringId input_strides = kNone;  // "Input Strides"
  int64_t sequence_number = -1;    // autograd
  int64_t forward_thread = -1;     // "Fwd thread id"
  int64_t python_id = -1;          // python frames
  int64_t python_parent = -1;
};

struct DeviceProperties {
  int32_t id = 0;
  std::string name;
  int32_t compute_major = 0, compute_minor = 0;
  int32_t multiprocessors = 0;
  int32_t warp_size = 32;
  int32_t max_threads_per_block = 0;
  int32_t max_threads_per_multiprocessor = 0;
  int32_t registers_per_multiprocessor = 0;
  int64_t shared_bytes_per_block = 0;        // default limit
  int64_t shared_bytes_per_block_optin = 0;  // opt-in limit; 0 where not said
  int64_t shared_bytes_per_multiprocessor = 0;
  int64_t memory_bytes = 0;
  bool is_cpu = false;  // hunch's own CPU device: no occupancy there

  // NVIDIA's, whose compute numbers are those of an "sm". AMD's have such numbers too, and warps of 64.
  bool has_sm() const { return !is_cpu && warp_size == 32 && compute_major > 0; }
};

// A change of device memory in use ("[memory]" events).
struct MemoryEvent {
  Ns time = 0;
  uint32_t track = 0;
  int64_t delta_bytes = 0;
  int64_t in_use_bytes = 0;  // -1: not said
  int32_t device = 0;
};

// What the reader met besides good events. `skipped` events are lost to the analysis; reasons say why.
// events = rows + memory events + ignored + skipped (a begin/end pair is two events and one row).
struct ImportStats {
  uint64_t events = 0;                       // seen, of any kind
  uint64_t skipped = 0;                      // malformed, by reason in `reasons`
  std::map<std::string, uint64_t> reasons;   // "event without a name": 2
  std::map<std::string, uint64_t> ignored;   // sound events that no analysis needs: "flow arrow": 812
  std::map<std::string, uint64_t> repaired;  // kept, after a repair: "invalid UTF-8 replaced": 3
  std::vector<std::string> warnings;         // about the file as a whole
};

struct Trace {
  std::string source;  // file name, or "recording"
  std::string format;  // "chrome_json", "recording"
  Ns base_time = 0;    // added already; 0 where times are absolute in the file
  StringPool strings;

  // Columns, one entry an event.
  std::vector<Ns> start;
  std::vector<Ns> duration;
  std::vector<StringId> name;
  std::vector<EventKind> kind;
  std::vector<uint32_t> track;
  std::vector<uint64_t> correlation;   // 0: none
  std::vector<uint64_t> external_id;   // 0: none
  std::vector<uint32_t> detail;        // index into device_details or op_details by kind; kNone: none
  std::vector<uint32_t> source_index;  // position in the source's event list

  std::vector<Track> tracks;
  std::vector<DeviceDetail> device_details;
  std::vector<OpDetail> op_details;
  std::vector<MemoryEvent> memory;
  std::vector<DeviceProperties> devices;
  std::map<std::string, std::string> metadata;  // versions, rank, trace name
  ImportStats stats;

  std::size_t size() const { return start.size(); }
  std::string_view name_of(EventId event) const { return strings.view(name[event]); }
  Ns end(EventId event) const { return start[event] + duration[event]; }
  const DeviceDetail* device_detail(EventId event) const;  // null for host events and where none was given
  const OpDetail* op_detail(EventId event) const;          // null for device events
  const DeviceProperties* device(int32_t id) const;        // null where the source does not describe it
};

}  // namespace hunch::trace
