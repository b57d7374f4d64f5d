// What every Trace must hold, whatever it was read from; a violation aborts.
#pragma once

#include "hunch/base/check.h"
#include "hunch/trace/trace.h"

namespace hunch::fuzz {

inline void hold_together(const trace::Trace& trace) {
  const std::size_t rows = trace.size();
  HUNCH_CHECK(trace.duration.size() == rows && trace.name.size() == rows && trace.kind.size() == rows);
  HUNCH_CHECK(trace.track.size() == rows && trace.correlation.size() == rows &&
              trace.external_id.size() == rows);
  HUNCH_CHECK(trace.detail.size() == rows && trace.source_index.size() == rows);
  for (trace::EventId event = 0; event < rows; ++event) {
    HUNCH_CHECK(trace.name[event] < trace.strings.size());
    HUNCH_CHECK(trace.track[event] < trace.tracks.size());
    HUNCH_CHECK(trace.duration[event] >= 0 && trace.end(event) >= trace.start[event]);
    HUNCH_CHECK(trace.source_index[event] < trace.stats.events);
    HUNCH_CHECK(event == 0 || trace.source_index[event - 1] < trace.source_index[event]);
    (void)trace.device_detail(event);
    if (const auto* op = trace.op_detail(event))
      HUNCH_CHECK(op->input_dims == trace::kNone || op->input_dims < trace.strings.size());
  }
  for (const auto& memory : trace.memory) HUNCH_CHECK(memory.track < trace.tracks.size());
  uint64_t skipped = 0;
  for (const auto& [reason, count] : trace.stats.reasons) skipped += count;
  HUNCH_CHECK(skipped == trace.stats.skipped);
}

}  // namespace hunch::fuzz
