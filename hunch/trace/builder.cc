#include "hunch/trace/builder.h"

#include <algorithm>
#include <utility>

#include "hunch/base/check.h"
#include "hunch/base/large_pages.h"

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
  std::string_view name = event.name;
  if (name.size() > kLongestName) {
    std::size_t end = kLongestName;
    while (end > 0 && (static_cast<uint8_t>(name[end]) & 0xC0) == 0x80) --end;  // no half characters
    name = name.substr(0, end);
    repaired("name of more than 16 KiB, cut");
  }
  trace_.name.push_back(trace_.strings.intern(name));
  trace_.kind.push_back(event.kind);
  trace_.track.push_back(event.track);
  trace_.correlation.push_back(event.correlation);
  trace_.external_id.push_back(event.external_id);
  trace_.detail.push_back(detail);
  trace_.source_index.push_back(event.source_index);
  return id;
}

void TraceBuilder::reserve(std::size_t events, std::size_t device_events, std::size_t ops) {
  const auto room = [](auto& column, std::size_t count) { base::reserve_large(column, count); };
  room(trace_.start, events);
  room(trace_.duration, events);
  room(trace_.name, events);
  room(trace_.kind, events);
  room(trace_.track, events);
  room(trace_.correlation, events);
  room(trace_.external_id, events);
  room(trace_.detail, events);
  room(trace_.source_index, events);
  room(trace_.device_details, device_events);
  room(trace_.op_details, ops);
}

void TraceBuilder::absorb(Trace& part, Known& known) {
  HUNCH_CHECK(trace_.size() + part.size() < kNone, "more than 2^32 - 1 events in one trace");
  auto& [names, tracks] = known;
  while (tracks.size() < part.tracks.size()) {
    const Track& there = part.tracks[tracks.size()];
    tracks.push_back(track(there.pid, there.tid));
  }
  while (names.size() < part.strings.size())
    names.push_back(trace_.strings.intern(part.strings.view(static_cast<StringId>(names.size()))));
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
    if (op.input_values != kNone) op.input_values = names[op.input_values];
    if (op.input_strides != kNone) op.input_strides = names[op.input_strides];
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
}

void TraceBuilder::clear_rows() {
  trace_.start.clear();
  trace_.duration.clear();
  trace_.name.clear();
  trace_.kind.clear();
  trace_.track.clear();
  trace_.correlation.clear();
  trace_.external_id.clear();
  trace_.detail.clear();
  trace_.source_index.clear();
  trace_.device_details.clear();
  trace_.op_details.clear();
  trace_.memory.clear();
  trace_.devices.clear();
  trace_.metadata.clear();
  trace_.stats = {};
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

void TraceBuilder::keep_sums_in_range() {
  constexpr Ns kMost =
      4'000'000'000'000'000'000;  // 126 years: the difference of two such times fits, and so does a sum
  const std::size_t rows = trace_.size();
  if (rows == 0) return;
  Ns first = 0, last = 0;
  uint64_t sum = 0;  // in units that 2^32 weeks do not overflow
  for (std::size_t row = 0; row < rows; ++row) {
    first = std::min(first, trace_.start[row]);
    last = std::max(last, trace_.start[row]);
    sum += static_cast<uint64_t>(trace_.duration[row]) >> 20;
  }
  std::vector<EventId> out;
  if (first < -kMost || last > kMost) {
    for (std::size_t row = 0; row < rows; ++row)
      if (trace_.start[row] < -kMost || trace_.start[row] > kMost) out.push_back(static_cast<EventId>(row));
    trace_.stats.skipped += out.size();
    trace_.stats.reasons["time is no number or out of range"] += out.size();
    remove(out);
  }
  std::erase_if(trace_.memory, [&](const MemoryEvent& event) {
    const bool bad = event.time < -kMost || event.time > kMost;
    if (bad) skip("time is no number or out of range");
    return bad;
  });
  if (sum < static_cast<uint64_t>(kMost >> 20) - rows) return;
  out.clear();
  const Ns fair = kMost / static_cast<Ns>(rows);
  for (std::size_t row = 0; row < trace_.size(); ++row)
    if (trace_.duration[row] > fair) out.push_back(static_cast<EventId>(row));
  trace_.stats.skipped += out.size();
  if (!out.empty()) trace_.stats.reasons["one of many durations that add up to over 126 years"] += out.size();
  remove(out);
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
