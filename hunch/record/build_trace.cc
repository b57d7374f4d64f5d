// Joins what the threads recorded: sorts, numbers, links launches with their device work, and fills a
// TraceBuilder. See build_trace.h for what holds of the result.
#include "hunch/record/build_trace.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

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
};

// Where a range's launches ran on one stream, first start to last end.
struct Shadow {
  HostRef range;
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
    case HostKind::launch:
    case HostKind::wait:
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
  }

  trace::Trace make() {
    collect();
    close_open_events();
    number_host_events();
    link();
    add_host_events();
    find_shadows();
    add_device_events();
    add_memory();
    describe();
    return builder_.finish();
  }

 private:
  HostEvent& event(HostRef ref) { return parts_.buffers[ref.buffer]->host[ref.event]; }
  uint64_t external_id(uint32_t buffer, uint32_t index) const {
    return index == kNoEvent ? 0 : external_ids_[buffer][index];
  }

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
      const HostKind kind = event(ref).kind;
      const bool call = kind == HostKind::launch || kind == HostKind::wait;
      if (!call) external_ids_[ref.buffer][ref.event] = next++;
    }
  }

  void link() {
    for (const HostRef ref : host_) {
      const HostEvent& call = event(ref);
      if (call.kind != HostKind::launch) continue;
      launches_.emplace(call.correlation, Launch{ref, external_id(ref.buffer, call.op),
                                                 HostRef{ref.buffer, call.range}, false});
    }
    std::size_t strangers = 0;
    for (const DeviceEvent* work : device_) {
      const auto found = launches_.find(work->correlation);
      if (found == launches_.end())
        ++strangers;
      else
        found->second.worked = true;
    }
    const auto idle = std::count_if(launches_.begin(), launches_.end(),
                                    [](const auto& entry) { return !entry.second.worked; });
    if (idle > 0)
      builder_.warn(plural(static_cast<std::size_t>(idle), "launch", "launches") +
                    " without device work: the recording ended before it ran");
    if (strangers > 0)
      builder_.warn(plural(strangers, "device event", "device events") +
                    " of launches before the recording began");
  }

  uint32_t host_track(const ThreadBuffer& buffer) {
    const uint32_t track = builder_.track(pid_, std::to_string(buffer.tid));
    std::string name = "thread " + std::to_string(buffer.tid);
    if (!buffer.name.empty()) name += " (" + buffer.name + ")";
    builder_.name_track(track, name);
    builder_.trace().tracks[track].process = program_invocation_short_name;
    return track;
  }

  uint32_t device_track(int64_t stream) {
    const std::string id = std::to_string(stream);
    const uint32_t track = builder_.track(std::to_string(device_id_), id);
    builder_.name_track(track, "stream " + id);
    const bool cpu = !parts_.devices.empty() && parts_.devices.front().is_cpu;
    builder_.trace().tracks[track].process = (cpu ? "CPU device " : "GPU ") + std::to_string(device_id_);
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
      const bool call = row.kind == EventKind::runtime_call;
      row.external_id = external_id(ref.buffer, call ? from.op : ref.event);
      if (!from.dims.empty()) {
        detail.input_dims = builder_.intern(from.dims);
        row.op = &detail;
      }
      add(row);
    }
  }

  // What a range launched, seen on the device; only whole shadows that do not cross another on their
  // stream, which happens when several threads launch to one.
  void find_shadows() {
    std::map<std::tuple<uint32_t, uint32_t, int64_t>, Shadow> shadows;
    for (const DeviceEvent* work : device_) {
      const auto found = launches_.find(work->correlation);
      if (found == launches_.end() || found->second.range.event == kNoEvent) continue;
      const HostRef range = found->second.range;
      const auto [entry, added] = shadows.try_emplace({range.buffer, range.event, work->stream},
                                                      Shadow{range, work->stream, work->start, work->end});
      if (!added) entry->second.end = std::max(entry->second.end, work->end);
    }
    std::vector<Shadow> ordered;
    for (const auto& entry : shadows) ordered.push_back(entry.second);
    std::stable_sort(ordered.begin(), ordered.end(), [](const Shadow& a, const Shadow& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::map<int64_t, std::vector<Ns>> open_until;  // by stream: ends of the shadows around, outermost first
    for (const Shadow& shadow : ordered) {
      std::vector<Ns>& open = open_until[shadow.stream];
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
    row.track = device_track(shadow.stream);
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
      detail.device = device_id_;
      detail.stream = work->stream;
      detail.bytes = work->work.bytes;
      detail.registers = work->work.registers;
      detail.shared_bytes = work->work.shared_bytes;
      detail.grid = work->work.grid;
      detail.block = work->work.block;
      trace::Event row;
      row.kind = kind_of(work->work.kind);
      row.name = work->work.name;
      row.track = device_track(work->stream);
      row.start = work->start;
      row.duration = work->end - work->start;
      row.correlation = work->correlation;
      const auto found = launches_.find(work->correlation);
      if (found != launches_.end()) row.external_id = found->second.external_id;
      row.device = &detail;
      add(row);
    }
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
    trace.stats.events = trace.size() + trace.memory.size();
  }

  RecordingParts parts_;
  int32_t device_id_ = 0;
  std::string pid_ = std::to_string(getpid());
  trace::TraceBuilder builder_;
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
