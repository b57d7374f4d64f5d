#include "hunch/trace/builder.h"

#include <utility>

#include "hunch/base/check.h"

namespace hunch::trace {

uint32_t TraceBuilder::track(std::string_view pid, std::string_view tid) {
  std::string key;
  key.reserve(pid.size() + tid.size() + 1);
  key.append(pid).append(1, '\0').append(tid);
  const auto [found, added] = track_ids_.emplace(std::move(key), static_cast<uint32_t>(trace_.tracks.size()));
  if (added) trace_.tracks.push_back(Track{std::string(pid), std::string(tid), {}, {}});
  return found->second;
}

void TraceBuilder::name_track(uint32_t track, std::string_view name) { trace_.tracks[track].name = name; }

EventId TraceBuilder::add(const Event& event) {
  HUNCH_CHECK(trace_.size() < kNone, "more than 2^32 - 1 events in one trace");
  const auto id = static_cast<EventId>(trace_.size());
  uint32_t detail = kNone;
  if (event.device != nullptr && is_device_work(event.kind)) {
    detail = static_cast<uint32_t>(trace_.device_details.size());
    trace_.device_details.push_back(*event.device);
  } else if (event.op != nullptr && (event.kind == EventKind::op || event.kind == EventKind::python_frame)) {
    detail = static_cast<uint32_t>(trace_.op_details.size());
    trace_.op_details.push_back(*event.op);
  }
  trace_.start.push_back(event.start);
  trace_.duration.push_back(event.duration);
  trace_.name.push_back(trace_.strings.intern(event.name));
  trace_.kind.push_back(event.kind);
  trace_.track.push_back(event.track);
  trace_.correlation.push_back(event.correlation);
  trace_.external_id.push_back(event.external_id);
  trace_.detail.push_back(detail);
  trace_.source_index.push_back(event.source_index);
  return id;
}

void TraceBuilder::reserve(std::size_t events, std::size_t device_events, std::size_t ops) {
  trace_.start.reserve(events);
  trace_.duration.reserve(events);
  trace_.name.reserve(events);
  trace_.kind.reserve(events);
  trace_.track.reserve(events);
  trace_.correlation.reserve(events);
  trace_.external_id.reserve(events);
  trace_.detail.reserve(events);
  trace_.source_index.reserve(events);
  trace_.device_details.reserve(device_events);
  trace_.op_details.reserve(ops);
}

void TraceBuilder::remove(const std::vector<EventId>& events) {
  if (events.empty()) return;
  const auto shrink = [&events](auto& column) {
    std::size_t kept = events.front();
    std::size_t next = 0;
    for (std::size_t row = kept; row < column.size(); ++row) {
      if (next < events.size() && events[next] == row) {
        ++next;
        continue;
      }
      column[kept++] = column[row];
    }
    column.resize(kept);
  };
  shrink(trace_.start);
  shrink(trace_.duration);
  shrink(trace_.name);
  shrink(trace_.kind);
  shrink(trace_.track);
  shrink(trace_.correlation);
  shrink(trace_.external_id);
  shrink(trace_.detail);
  shrink(trace_.source_index);
}

void TraceBuilder::skip(std::string_view reason) {
  ++trace_.stats.skipped;
  ++trace_.stats.reasons[std::string(reason)];
}

Trace TraceBuilder::finish() {
  track_ids_.clear();
  return std::exchange(trace_, Trace{});
}

}  // namespace hunch::trace
