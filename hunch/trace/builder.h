// TraceBuilder: the one way to fill a Trace. Readers and recorders add events in any order; finish()
// hands over the Trace and leaves the builder empty.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "hunch/trace/trace.h"

namespace hunch::trace {

struct Event {
  EventKind kind = EventKind::other;
  std::string_view name;
  uint32_t track = 0;
  Ns start = 0;
  Ns duration = 0;
  uint64_t correlation = 0;
  uint64_t external_id = 0;
  uint32_t source_index = 0;
  const DeviceDetail* device = nullptr;  // copied; device work only
  const OpDetail* op = nullptr;          // copied; ops and python frames only
};

class TraceBuilder {
 public:
  // The track of (pid, tid), made on first use.
  uint32_t track(std::string_view pid, std::string_view tid);
  void name_track(uint32_t track, std::string_view name);

  EventId add(const Event& event);
  void add_memory(const MemoryEvent& event) { trace_.memory.push_back(event); }
  StringId intern(std::string_view text) { return trace_.strings.intern(text); }

  // Counts one event that could not be used; `reason` in the plural sense of a table row: "no name".
  void skip(std::string_view reason);
  void warn(std::string message) { trace_.stats.warnings.push_back(std::move(message)); }

  Trace& trace() { return trace_; }  // for devices, metadata, source, format, base_time, stats.events
  Trace finish();

 private:
  Trace trace_;
  std::unordered_map<std::string, uint32_t> track_ids_;
};

}  // namespace hunch::trace
