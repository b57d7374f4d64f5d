// Real traces without what names forwards in them: as if nobody had annotated them.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "hunch/trace/builder.h"

namespace hunch {

// The trace without the events that `drop` names.
inline trace::Trace without(trace::Trace trace, const std::function<bool(trace::EventKind)>& drop) {
  std::vector<trace::EventId> events;
  for (trace::EventId i = 0; i < trace.size(); ++i)
    if (drop(trace.kind[i])) events.push_back(i);
  trace::TraceBuilder builder;
  auto devices = trace.devices;
  builder.absorb(std::move(trace));
  if (builder.trace().devices.empty()) builder.trace().devices = std::move(devices);
  builder.remove(events);
  return builder.finish();
}

inline bool names_a_forward(trace::EventKind kind) {
  return kind == trace::EventKind::annotation || kind == trace::EventKind::step;
}
inline bool names_a_forward_or_frame(trace::EventKind kind) {
  return names_a_forward(kind) || kind == trace::EventKind::python_frame;
}
inline bool is_no_device_work(trace::EventKind kind) { return !trace::is_device_work(kind); }

}  // namespace hunch
