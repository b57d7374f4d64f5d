#include "hunch/trace/trace.h"

#include <algorithm>

namespace hunch::trace {

std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::op:
      return "op";
    case EventKind::annotation:
      return "annotation";
    case EventKind::step:
      return "step";
    case EventKind::python_frame:
      return "python_frame";
    case EventKind::runtime_call:
      return "runtime_call";
    case EventKind::driver_call:
      return "driver_call";
    case EventKind::kernel:
      return "kernel";
    case EventKind::memcpy:
      return "memcpy";
    case EventKind::memset:
      return "memset";
    case EventKind::sync:
      return "sync";
    case EventKind::device_annotation:
      return "device_annotation";
    case EventKind::overhead:
      return "overhead";
    case EventKind::other:
      break;
  }
  return "other";
}

bool is_step_name(std::string_view name) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (name.size() <= kPrefix.size() || name.substr(0, kPrefix.size()) != kPrefix) return false;
  return std::all_of(name.begin() + kPrefix.size(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

const DeviceDetail* Trace::device_detail(EventId event) const {
  if (!is_device_work(kind[event]) || detail[event] == kNone) return nullptr;
  return &device_details[detail[event]];
}

const OpDetail* Trace::op_detail(EventId event) const {
  const bool host = kind[event] == EventKind::op || kind[event] == EventKind::python_frame;
  if (!host || detail[event] == kNone) return nullptr;
  return &op_details[detail[event]];
}

const DeviceProperties* Trace::device(int32_t id) const {
  for (const auto& properties : devices)
    if (properties.id == id) return &properties;
  return nullptr;
}

}  // namespace hunch::trace
