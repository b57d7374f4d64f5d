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

std::vector<uint32_t> TraceBuilder::absorb(Trace part) {
  HUNCH_CHECK(trace_.size() + part.size() < kNone, "more than 2^32 - 1 events in one trace");
  std::vector<uint32_t> tracks;
  for (const auto& there : part.tracks) tracks.push_back(track(there.pid, there.tid));
  std::vector<StringId> names(part.strings.size());
  for (StringId id = 0; id < names.size(); ++id) names[id] = trace_.strings.intern(part.strings.view(id));
  const auto first_device = static_cast<uint32_t>(trace_.device_details.size());
  const auto first_op = static_cast<uint32_t>(trace_.op_details.size());
  const auto first_index = static_cast<uint32_t>(trace_.stats.events);
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };

  for (auto& name : part.name) name = names[name];
  for (auto& id : part.track) id = tracks[id];
  for (auto& index : part.source_index) index += first_index;
  for (std::size_t row = 0; row < part.size(); ++row)
    if (part.detail[row] != kNone)
      part.detail[row] += is_device_work(part.kind[row]) ? first_device : first_op;
  for (auto& op : part.op_details) {
    if (op.input_dims != kNone) op.input_dims = names[op.input_dims];
    if (op.input_types != kNone) op.input_types = names[op.input_types];
  }
  for (auto& event : part.memory) event.track = tracks[event.track];
  append(trace_.start, part.start);
  append(trace_.duration, part.duration);
  append(trace_.name, part.name);
  append(trace_.kind, part.kind);
  append(trace_.track, part.track);
  append(trace_.correlation, part.correlation);
  append(trace_.external_id, part.external_id);
  append(trace_.detail, part.detail);
  append(trace_.source_index, part.source_index);
  append(trace_.device_details, part.device_details);
  append(trace_.op_details, part.op_details);
  append(trace_.memory, part.memory);
  append(trace_.devices, part.devices);
  trace_.stats.events += part.stats.events;
  trace_.stats.skipped += part.stats.skipped;
  for (const auto& [reason, count] : part.stats.reasons) trace_.stats.reasons[reason] += count;
  for (const auto& [kind, count] : part.stats.ignored) trace_.stats.ignored[kind] += count;
  for (const auto& [what, count] : part.stats.repaired) trace_.stats.repaired[what] += count;
  append(trace_.stats.warnings, part.stats.warnings);
  return tracks;
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
