// TraceBuilder: the one way to fill a Trace. Readers and recorders add events in any order; finish()
// hands over the Trace and leaves the builder empty.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hunch/trace/trace.h"

namespace hunch::trace {

// Longer names are cut: a report says a name for each piece of work, and no kernel's name comes near.
inline constexpr std::size_t kLongestName = std::size_t{16} << 10;

struct Event {
  EventKind kind = EventKind::other;
  std::string_view name;  // UTF-8
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

  // Room for about this many events, so that columns grow without copies. A wrong guess costs only speed.
  void reserve(std::size_t events, std::size_t device_events, std::size_t ops);

  // What of another trace's names and tracks is here: their ids here, by their ids there.
  struct Known {
    std::vector<StringId> names;
    std::vector<uint32_t> tracks;
  };
  // Appends the rows of `part`, read from what follows in the same source: source indexes and details move
  // up, names and tracks are found or added, counts summed. `known` grows by what `part` has besides; the
  // columns of `part` are left as they are here.
  void absorb(Trace& part, Known& known);
  void absorb(Trace part) {
    Known known;
    absorb(part, known);
  }

  // For begin/end pairs: the begin adds a row, the end sets its duration. Rows that never ended are taken
  // out again before finish(); `events` in rising order. Ids of rows behind them move down.
  void set_duration(EventId event, Ns duration) { trace_.duration[event] = duration; }
  void remove(const std::vector<EventId>& events);

  // Counts one event that could not be used; `reason` reads as a row of a table: "event without a name".
  void skip(std::string_view reason);
  // Counts one sound event that is not kept, and one value that was kept after a repair.
  void ignore(std::string_view kind) { ++trace_.stats.ignored[std::string(kind)]; }
  void repaired(std::string_view what) { ++trace_.stats.repaired[std::string(what)]; }
  void warn(std::string message) { trace_.stats.warnings.push_back(std::move(message)); }

  // Takes out rows whose times would not fit 64 bits in differences and sums, and counts them as skipped.
  // Readers call it last, when base times are added.
  void keep_sums_in_range();

  Trace& trace() { return trace_; }  // for devices, metadata, source, format, base_time, stats.events
  Trace finish();
  // For the next part of the same source: drops rows and counts, keeps room, names and tracks.
  void clear_rows();

 private:
  Trace trace_;
  std::unordered_map<std::string, uint32_t> track_ids_;
};

}  // namespace hunch::trace
