// Joins what the threads recorded: sorts, numbers, links launches with their device work, and fills a
// TraceBuilder. See build_trace.h for what holds of the result.
#include "hunch/record/build_trace.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "hunch/record/join_activity.h"
#include "hunch/trace/builder.h"

namespace hunch::record {
namespace {

using trace::EventKind;

constexpr Ns kDay = int64_t{24} * 3600 * 1'000'000'000;

struct HostRef {
  uint32_t buffer = 0;
  uint32_t event = 0;
};

struct Launch {
  HostRef call;
  uint64_t external_id = 0;
  HostRef range;  // range.event is kNoEvent outside of every range
  bool worked = false;
  bool traced = false;  // a tracer's call: need not have work
};

// Where a range's launches ran on one stream, first start to last end.
struct Shadow {
  HostRef range;
  int32_t device = 0;
  int64_t stream = 0;
  Ns start = 0;
  Ns end = 0;
};

EventKind kind_of(HostKind kind) {
  switch (kind) {
    case HostKind::op:
      return EventKind::op;
    case HostKind::annotation:
      return EventKind::annotation;
    case HostKind::step:
      return EventKind::step;
    case HostKind::driver_call:
      return EventKind::driver_call;
    case HostKind::launch:
    case HostKind::wait:
    case HostKind::runtime_call:
      break;
  }
  return EventKind::runtime_call;
}

EventKind kind_of(base::WorkKind kind) {
  switch (kind) {
    case base::WorkKind::memcpy:
      return EventKind::memcpy;
    case base::WorkKind::memset:
      return EventKind::memset;
    case base::WorkKind::kernel:
      break;
  }
  return EventKind::kernel;
}

std::string plural(std::size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

class TraceMaker {
 public:
  explicit TraceMaker(RecordingParts parts) : parts_(std::move(parts)) {
    if (!parts_.devices.empty()) device_id_ = parts_.devices.front().id;
    if (parts_.pid == 0) {
      parts_.pid = getpid();
      parts_.process = program_invocation_short_name;
    }
    pid_ = std::to_string(parts_.pid);
  }

  trace::Trace make() {
    join_device_tracer();
    collect();
    close_open_events();
    number_host_events();
    link();
    add_host_events();
    find_shadows();
    add_device_events();
    add_tracer_events();
    add_memory();
    describe();
    return builder_.finish();
  }

 private:
  HostEvent& event(HostRef ref) { return parts_.buffers[ref.buffer]->host[ref.event]; }
  uint64_t external_id(uint32_t buffer, uint32_t index) const {
    return index == kNoEvent ? 0 : external_ids_[buffer][index];
  }

  void join_device_tracer() {
    for (std::string& warning : parts_.warnings) builder_.warn(std::move(warning));
    if (!parts_.activity) return;
    JoinedActivity joined = join_activity(parts_);
    traced_work_ = std::move(joined.work);
    for (std::string& warning : joined.warnings) builder_.warn(std::move(warning));
  }
  bool traced() const { return parts_.activity.has_value(); }
  int32_t device_of(const DeviceEvent& work) const { return work.device < 0 ? device_id_ : work.device; }

  // All events of all threads, by start. Events that begin in the same nanosecond on one thread keep the
  // order in which they began, so an enclosing event comes before what it encloses.
  void collect() {
    for (uint32_t b = 0; b < parts_.buffers.size(); ++b) {
      const ThreadBuffer& buffer = *parts_.buffers[b];
      for (uint32_t i = 0; i < buffer.host.size(); ++i) {
        host_.push_back({b, i});
        last_ = std::max({last_, buffer.host[i].start, buffer.host[i].end});
      }
      for (std::size_t i = 0; i < buffer.device.size(); ++i) {
        device_.push_back(&buffer.device[i]);
        last_ = std::max(last_, buffer.device[i].end);
      }
    }
    for (const DeviceEvent& work : traced_work_) {
      device_.push_back(&work);
      last_ = std::max(last_, work.end);
    }
    std::stable_sort(host_.begin(), host_.end(),
                     [this](HostRef a, HostRef b) { return event(a).start < event(b).start; });
    std::stable_sort(device_.begin(), device_.end(),
                     [](const DeviceEvent* a, const DeviceEvent* b) { return a->start < b->start; });
  }

  void close_open_events() {
    std::size_t closed = 0;
    for (const HostRef ref : host_) {
      if (event(ref).end != HostEvent::kOpen) continue;
      event(ref).end = last_;
      ++closed;
    }
    if (closed > 0)
      builder_.warn(plural(closed, "span or call was", "spans or calls were") +
                    " still open when the recording ended, and closed there");
  }

  void number_host_events() {
    for (const auto& buffer : parts_.buffers) external_ids_.emplace_back(buffer->host.size(), 0);
    uint64_t next = 1;
    for (const HostRef ref : host_) {
      if (!is_call(event(ref).kind)) external_ids_[ref.buffer][ref.event] = next++;
    }
  }

  void link() {
    for (const HostRef ref : host_) {
      const HostEvent& call = event(ref);
      const bool of_tracer = call.kind == HostKind::runtime_call || call.kind == HostKind::driver_call;
      if (call.kind != HostKind::launch && !of_tracer) continue;
      launches_.emplace(call.correlation, Launch{ref, external_id(ref.buffer, call.op),
                                                 HostRef{ref.buffer, call.range}, false, of_tracer});
    }
    std::size_t strangers = 0;
    for (const DeviceEvent* work : device_) {
      const auto found = launches_.find(work->correlation);
      if (found == launches_.end())
        ++strangers;
      else
        found->second.worked = true;
    }
    const auto idle = std::count_if(launches_.begin(), launches_.end(), [](const auto& entry) {
      return !entry.second.worked && !entry.second.traced;
    });
    if (idle > 0)
      builder_.warn(plural(static_cast<std::size_t>(idle), "launch", "launches") +
                    " without device work: the recording ended before it ran");
    if (strangers > 0)
      builder_.warn(plural(strangers, "device event", "device events") +
                    (traced() ? " of launches that were not recorded, or before the recording began"
                              : " of launches before the recording began"));
  }

  uint32_t host_track(const ThreadBuffer& buffer) {
    const uint32_t track = builder_.track(pid_, std::to_string(buffer.tid));
    std::string name = "thread " + std::to_string(buffer.tid);
    if (!buffer.name.empty()) name += " (" + buffer.name + ")";
    builder_.name_track(track, name);
    builder_.trace().tracks[track].process = parts_.process;
    return track;
  }

  uint32_t device_track(int32_t device, int64_t stream) {
    const std::string id = std::to_string(stream);
    return device_track(device, id, "stream " + id);
  }
  uint32_t device_track(int32_t device, const std::string& id, const std::string& name) {
    const uint32_t track = builder_.track(std::to_string(device), id);
    builder_.name_track(track, name);
    bool cpu = false;
    for (const trace::DeviceProperties& known : parts_.devices)
      if (known.id == device) cpu = known.is_cpu;
    builder_.trace().tracks[track].process = (cpu ? "CPU device " : "GPU ") + std::to_string(device);
    return track;
  }

  void add(trace::Event& row) {
    row.source_index = static_cast<uint32_t>(builder_.trace().size());
    builder_.add(row);
  }

  void add_host_events() {
    std::vector<uint32_t> tracks(parts_.buffers.size(), trace::kNone);
    for (const HostRef ref : host_) {
      const HostEvent& from = event(ref);
      if (tracks[ref.buffer] == trace::kNone) tracks[ref.buffer] = host_track(*parts_.buffers[ref.buffer]);
      trace::OpDetail detail;
      trace::Event row;
      row.kind = kind_of(from.kind);
      row.name = from.name;
      row.track = tracks[ref.buffer];
      row.start = from.start;
      row.duration = from.end - from.start;
      row.correlation = from.correlation;
      row.external_id = external_id(ref.buffer, is_call(from.kind) ? from.op : ref.event);
      if (!from.dims.empty()) {
        detail.input_dims = builder_.intern(from.dims);
        row.op = &detail;
      }
      if (!from.types.empty()) {
        detail.input_types = builder_.intern(from.types);
        row.op = &detail;
      }
      if (from.sequence >= 0) {
        detail.sequence_number = from.sequence;
        row.op = &detail;
      }
      add(row);
    }
  }

  // What a range launched, seen on the device; only whole shadows that do not cross another on their
  // stream, which happens when several threads launch to one.
  void find_shadows() {
    std::map<std::tuple<uint32_t, uint32_t, int32_t, int64_t>, Shadow> shadows;
    for (const DeviceEvent* work : device_) {
      const auto found = launches_.find(work->correlation);
      if (found == launches_.end() || found->second.range.event == kNoEvent) continue;
      const HostRef range = found->second.range;
      const int32_t device = device_of(*work);
      const auto [entry, added] =
          shadows.try_emplace({range.buffer, range.event, device, work->stream},
                              Shadow{range, device, work->stream, work->start, work->end});
      if (!added) entry->second.end = std::max(entry->second.end, work->end);
    }
    std::vector<Shadow> ordered;
    for (const auto& entry : shadows) ordered.push_back(entry.second);
    std::stable_sort(ordered.begin(), ordered.end(), [](const Shadow& a, const Shadow& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    // By stream: ends of the shadows around, outermost first.
    std::map<std::pair<int32_t, int64_t>, std::vector<Ns>> open_until;
    for (const Shadow& shadow : ordered) {
      std::vector<Ns>& open = open_until[{shadow.device, shadow.stream}];
      while (!open.empty() && open.back() <= shadow.start) open.pop_back();
      if (!open.empty() && open.back() < shadow.end) continue;
      open.push_back(shadow.end);
      shadows_.push_back(shadow);
    }
  }

  void add_shadow(const Shadow& shadow) {
    trace::Event row;
    row.kind = EventKind::device_annotation;
    row.name = event(shadow.range).name;
    row.track = device_track(shadow.device, shadow.stream);
    row.start = shadow.start;
    row.duration = shadow.end - shadow.start;
    row.external_id = external_id(shadow.range.buffer, shadow.range.event);
    add(row);
  }

  // A shadow starts with a piece of work, and comes before it.
  void add_device_events() {
    auto shadow = shadows_.begin();
    for (const DeviceEvent* work : device_) {
      for (; shadow != shadows_.end() && shadow->start <= work->start; ++shadow) add_shadow(*shadow);
      trace::DeviceDetail detail;
      detail.device = device_of(*work);
      detail.stream = work->stream;
      detail.bytes = work->work.bytes;
      detail.registers = work->work.registers;
      detail.shared_bytes = work->work.shared_bytes;
      detail.grid = work->work.grid;
      detail.block = work->work.block;
      detail.graph_id = work->graph_id;
      detail.graph_node_id = work->graph_node_id;
      detail.driver_blocks = work->driver_blocks;
      trace::Event row;
      row.kind = kind_of(work->work.kind);
      row.name = work->work.name;
      row.track = device_track(detail.device, work->stream);
      row.start = work->start;
      row.duration = work->end - work->start;
      row.correlation = work->correlation;
      const auto found = launches_.find(work->correlation);
      if (found != launches_.end()) row.external_id = found->second.external_id;
      row.device = &detail;
      add(row);
    }
  }

  // Waits and overheads have tracks of their own: on a thread's or a stream's they would cross its slices.
  void add_tracer_events() {
    if (!traced()) return;
    const DeviceActivity& activity = *parts_.activity;
    std::vector<trace::Event> rows;
    for (const Synchronization& wait : activity.synchronizations) {
      if (wait.start < parts_.started) continue;
      trace::Event& row = rows.emplace_back();
      row.kind = EventKind::sync;
      row.name = activity.names.view(wait.name);
      row.track = device_track(wait.device, "synchronization", "synchronization");
      row.start = wait.start;
      row.duration = wait.end - wait.start;
      row.correlation = wait.correlation;
      const auto call = launches_.find(wait.correlation);
      if (call != launches_.end()) row.external_id = call->second.external_id;
    }
    for (const Overhead& overhead : activity.overheads) {
      if (overhead.start < parts_.started) continue;
      trace::Event& row = rows.emplace_back();
      row.kind = EventKind::overhead;
      row.name = activity.names.view(overhead.name);
      const std::string of =
          overhead.tid < 0 ? "overhead" : "overhead of thread " + std::to_string(overhead.tid);
      row.track = builder_.track(pid_, of);
      builder_.name_track(row.track, of);
      builder_.trace().tracks[row.track].process = parts_.process;
      row.start = overhead.start;
      row.duration = overhead.end - overhead.start;
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (trace::Event& row : rows) add(row);
  }

  void add_memory() {
    std::vector<trace::MemoryEvent> changes;
    for (const auto& buffer : parts_.buffers) {
      if (buffer->memory.size() == 0) continue;
      const uint32_t track = host_track(*buffer);
      for (std::size_t i = 0; i < buffer->memory.size(); ++i) {
        const MemoryChange& change = buffer->memory[i];
        changes.push_back({change.time, track, change.delta, change.in_use, device_id_});
      }
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    for (const auto& change : changes) builder_.add_memory(change);
  }

  void describe() {
    trace::Trace& trace = builder_.trace();
    trace.source = "recording";
    trace.format = "recording";
    // The day's start: near enough that microseconds in a double keep their nanoseconds, and the same for
    // recordings that are to be laid side by side.
    if (trace.size() > 0)
      trace.base_time = *std::min_element(trace.start.begin(), trace.start.end()) / kDay * kDay;
    trace.devices = std::move(parts_.devices);
    trace.metadata = std::move(parts_.metadata);
    if (traced()) trace.metadata.insert(parts_.activity->metadata.begin(), parts_.activity->metadata.end());
    trace.stats.events = trace.size() + trace.memory.size();
  }

  RecordingParts parts_;
  int32_t device_id_ = 0;
  std::string pid_;
  trace::TraceBuilder builder_;
  std::vector<DeviceEvent> traced_work_;             // of a device's tracer
  std::vector<HostRef> host_;                        // by start
  std::vector<const DeviceEvent*> device_;           // by start
  std::vector<std::vector<uint64_t>> external_ids_;  // by buffer and event; 0 for calls
  std::unordered_map<uint64_t, Launch> launches_;    // by correlation
  std::vector<Shadow> shadows_;                      // by start
  Ns last_ = INT64_MIN;
};

}  // namespace

trace::Trace build_trace(RecordingParts parts) { return TraceMaker(std::move(parts)).make(); }

}  // namespace hunch::record
