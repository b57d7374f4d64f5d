// A Trace as Chrome JSON in the form of PyTorch's profiler, so that Perfetto and the tools made for PyTorch
// traces open what hunch recorded.
//
// In:  any Trace, recorded or read. Out: valid JSON. The Trace's rows come first in "traceEvents", in order,
// so that a row's number finds the event in the file; then memory, flow arrows and the names of tracks.
// Holds: reading the text again gives the same columns. Times are printed from integers. What the Trace
// does not know is left out, never made up.
#include "hunch/formats/chrome_json/writer.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hunch/formats/chrome_json/json_text.h"

namespace hunch::formats::chrome_json {
namespace {

using trace::EventId;
using trace::EventKind;
using trace::kNone;
using trace::StringId;
using trace::Trace;

std::string_view category_of(EventKind kind) {
  switch (kind) {
    case EventKind::op:
      return "cpu_op";
    case EventKind::annotation:
    case EventKind::step:
      return "user_annotation";
    case EventKind::python_frame:
      return "python_function";
    case EventKind::runtime_call:
      return "cuda_runtime";
    case EventKind::driver_call:
      return "cuda_driver";
    case EventKind::kernel:
      return "kernel";
    case EventKind::memcpy:
      return "gpu_memcpy";
    case EventKind::memset:
      return "gpu_memset";
    case EventKind::sync:
      return "cuda_sync";
    case EventKind::device_annotation:
      return "gpu_user_annotation";
    case EventKind::overhead:
      return "overhead";
    case EventKind::other:
      break;
  }
  return "other";
}

// A number where the text is one as JSON would print it, else a string: pids and tids are both in the field.
bool is_plain_integer(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::string_view digits = text.substr(sign);
  if (digits.empty() || digits.size() > 18) return false;
  if (digits.size() > 1 && digits.front() == '0') return false;
  if (sign == 1 && digits == "0") return false;
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int64_t> integer_of(std::string_view text) {
  if (!is_plain_integer(text)) return std::nullopt;
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace), track_ids_(trace.tracks.size()) {
    for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
      track_ids_[t] = ", \"pid\": ";
      append_id(track_ids_[t], trace.tracks[t].pid);
      track_ids_[t] += ", \"tid\": ";
      append_id(track_ids_[t], trace.tracks[t].tid);
    }
  }

  std::string write() {
    out_.reserve(trace_.size() * 360 + trace_.memory.size() * 220 + 16 * 1024);
    header();
    out_ += "  \"traceEvents\": [";
    for (EventId row = 0; row < trace_.size(); ++row) complete_event(row);
    for (const auto& change : trace_.memory) memory_event(change);
    flows();
    track_names();
    out_ += "\n  ],\n  \"traceName\": ";
    const auto name = trace_.metadata.find("traceName");
    append_string(out_, name != trace_.metadata.end() ? name->second : trace_.source);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  static void append_id(std::string& out, std::string_view id) {
    if (is_plain_integer(id))
      out += id;
    else
      append_string(out, id);
  }

  void header() {
    out_ += "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [";
    for (std::size_t i = 0; i < trace_.devices.size(); ++i) {
      out_ += i == 0 ? "\n    {" : ",\n    {";
      device_properties(trace_.devices[i]);
      out_ += '}';
    }
    out_ += "\n  ],\n";
    for (const auto& [key, value] : trace_.metadata) {
      if (key == "schemaVersion" || key == "deviceProperties" || key == "displayTimeUnit" ||
          key == "baseTimeNanoseconds" || key == "traceEvents" || key == "traceName")
        continue;
      out_ += "  ";
      append_string(out_, key);
      out_ += ": ";
      const bool looks_like_json = value.starts_with('{') || value.starts_with('[');
      const bool is_word = value == "true" || value == "false" || value == "null";
      if (is_word || is_plain_integer(value) || (looks_like_json && json_kind(value) != JsonKind::none))
        out_ += value;
      else
        append_string(out_, value);
      out_ += ",\n";
    }
    out_ += "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ";
    append_int(out_, trace_.base_time);
    out_ += ",\n";
  }

  void device_properties(const trace::DeviceProperties& device) {
    out_ += "\"id\": ";
    append_int(out_, device.id);
    out_ += ", \"name\": ";
    append_string(out_, device.name);
    const auto field = [&](std::string_view key, int64_t value) {
      if (value == 0) return;  // not said
      out_ += ", \"";
      out_ += key;
      out_ += "\": ";
      append_int(out_, value);
    };
    field("totalGlobalMem", device.memory_bytes);
    if (!device.is_cpu) {
      field("computeMajor", device.compute_major);
      if (device.compute_major != 0) {  // its minor may well be 0
        out_ += ", \"computeMinor\": ";
        append_int(out_, device.compute_minor);
      }
      field("maxThreadsPerBlock", device.max_threads_per_block);
      field("maxThreadsPerMultiprocessor", device.max_threads_per_multiprocessor);
      field("warpSize", device.warp_size);
      field("sharedMemPerBlock", device.shared_bytes_per_block);
    }
    field("numSms", device.multiprocessors);
    if (!device.is_cpu) {
      field("regsPerMultiprocessor", device.registers_per_multiprocessor);
      field("sharedMemPerBlockOptin", device.shared_bytes_per_block_optin);
      field("sharedMemPerMultiprocessor", device.shared_bytes_per_multiprocessor);
    } else {
      out_ += ", \"hunchDeviceKind\": \"cpu\"";
    }
  }

  // Opens one more element of traceEvents.
  void next() {
    out_ += first_event_ ? "\n  {" : ",\n  {";
    first_event_ = false;
  }

  void complete_event(EventId row) {
    next();
    out_ += "\"ph\": \"X\", \"cat\": \"";
    out_ += category_of(trace_.kind[row]);
    out_ += "\", \"name\": ";
    append_string(out_, trace_.name_of(row));
    out_ += track_ids_[trace_.track[row]];
    out_ += ", \"ts\": ";
    append_time(out_, relative(trace_.start[row]));
    out_ += ", \"dur\": ";
    append_time(out_, trace_.duration[row]);
    arguments(row);
    out_ += '}';
  }

  // Wraps rather than overflows, for times that no clock gives.
  trace::Ns relative(trace::Ns time) const {
    return static_cast<trace::Ns>(static_cast<uint64_t>(time) - static_cast<uint64_t>(trace_.base_time));
  }

  void key(std::string_view name) {
    out_ += first_argument_ ? ", \"args\": {\"" : ", \"";
    first_argument_ = false;
    out_ += name;
    out_ += "\": ";
  }
  void integer(std::string_view name, int64_t value) {
    key(name);
    append_int(out_, value);
  }
  void known(std::string_view name, int64_t value) {
    if (value >= 0) integer(name, value);
  }

  void arguments(EventId row) {
    first_argument_ = true;
    if (trace_.external_id[row] != 0) {
      key("External id");
      append_uint(out_, trace_.external_id[row]);
    }
    if (trace_.correlation[row] != 0) {
      key("correlation");
      append_uint(out_, trace_.correlation[row]);
    }
    if (const auto* op = trace_.op_detail(row)) op_arguments(*op, trace_.kind[row]);
    if (const auto* device = trace_.device_detail(row)) device_arguments(*device, row);
    if (!first_argument_) out_ += '}';
  }

  void op_arguments(const trace::OpDetail& op, EventKind kind) {
    known("Sequence number", op.sequence_number);
    known("Fwd thread id", op.forward_thread);
    list_text("Input Dims", op.input_dims);
    list_text("Input type", op.input_types);
    if (kind != EventKind::python_frame) return;
    known("Python id", op.python_id);
    if (op.python_id >= 0 && op.python_parent < 0) {
      key("Python parent id");
      out_ += "null";
    }
    known("Python parent id", op.python_parent);
  }

  // A text that is a JSON list goes in as it is; any other as a string.
  void list_text(std::string_view name, StringId text) {
    if (text == kNone) return;
    const auto [known_text, added] = is_list_.try_emplace(text, false);
    if (added) known_text->second = json_kind(trace_.strings.view(text)) == JsonKind::list;
    key(name);
    if (known_text->second)
      out_ += trace_.strings.view(text);
    else
      append_string(out_, trace_.strings.view(text));
  }

  void device_arguments(const trace::DeviceDetail& detail, EventId row) {
    known("device", detail.device);
    known("stream", detail.stream);
    known("registers per thread", detail.registers);
    known("shared memory", detail.shared_bytes);
    real("blocks per SM", detail.blocks_per_sm);
    real("warps per SM", detail.warps_per_sm);
    dimensions("grid", detail.grid);
    dimensions("block", detail.block);
    real("est. achieved occupancy %", detail.reported_occupancy_pct);
    known("graph id", detail.graph_id);
    known("graph node id", detail.graph_node_id);
    known("bytes", detail.bytes);
    if (detail.bytes >= 0 && trace_.duration[row] > 0 && trace_.kind[row] != EventKind::kernel) {
      key("memory bandwidth (GB/s)");  // bytes a nanosecond, as in the profiler
      append_double(out_, static_cast<double>(detail.bytes) / static_cast<double>(trace_.duration[row]));
    }
  }

  void real(std::string_view name, float value) {
    if (!is_writable(value) || value < 0) return;
    key(name);
    append_float(out_, value);
  }

  void dimensions(std::string_view name, const std::array<uint32_t, 3>& sizes) {
    if (sizes == std::array<uint32_t, 3>{0, 0, 0}) return;  // not said
    key(name);
    out_ += '[';
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_uint(out_, sizes[i]);
    }
    out_ += ']';
  }

  void memory_event(const trace::MemoryEvent& change) {
    next();
    out_ += "\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\"";
    out_ += track_ids_[change.track];
    out_ += ", \"ts\": ";
    append_time(out_, relative(change.time));
    const trace::DeviceProperties* device = trace_.device(change.device);
    const bool host_memory = device != nullptr && device->is_cpu;
    first_argument_ = true;
    integer("Total Allocated", change.in_use_bytes);
    integer("Bytes", change.delta_bytes);
    integer("Device Id", change.device);
    integer("Device Type", host_memory ? 0 : 1);  // PyTorch's numbers: 0 CPU, 1 CUDA
    out_ += "}}";
  }

  // An arrow from each launch call to each piece of its device work. Both ends lie at their slices' starts.
  void flows() {
    std::unordered_map<uint64_t, EventId> calls;
    for (EventId row = 0; row < trace_.size(); ++row) {
      if (!trace::is_api_call(trace_.kind[row]) || trace_.correlation[row] == 0) continue;
      const auto [call, added] = calls.try_emplace(trace_.correlation[row], row);
      if (!added && trace_.kind[row] == EventKind::runtime_call &&
          trace_.kind[call->second] != EventKind::runtime_call)
        call->second = row;
    }
    std::vector<bool> started(trace_.size(), false);
    for (EventId row = 0; row < trace_.size(); ++row) {
      if (!trace::is_device_work(trace_.kind[row])) continue;
      const auto call = calls.find(trace_.correlation[row]);
      if (call == calls.end()) continue;
      if (!started[call->second]) flow_end(call->second, "s", "");
      started[call->second] = true;
      flow_end(row, "f", ", \"bp\": \"e\"");
    }
  }

  void flow_end(EventId row, std::string_view phase, std::string_view rest) {
    next();
    out_ += "\"ph\": \"";
    out_ += phase;
    out_ += "\", \"id\": ";
    append_uint(out_, trace_.correlation[row]);
    out_ += track_ids_[trace_.track[row]];
    out_ += ", \"ts\": ";
    append_time(out_, relative(trace_.start[row]));
    out_ += ", \"cat\": \"ac2g\", \"name\": \"ac2g\"";
    out_ += rest;
    out_ += '}';
  }

  // What viewers show beside the tracks. Devices come after processes, as in PyTorch's traces.
  void track_names() {
    std::map<std::string_view, int32_t> device_of;  // by pid, where device work ran
    for (EventId row = 0; row < trace_.size(); ++row)
      if (const auto* detail = trace_.device_detail(row))
        device_of.try_emplace(trace_.tracks[trace_.track[row]].pid, std::max(detail->device, 0));
    const auto name = trace_.metadata.find("process_name");
    const std::string_view process =
        name != trace_.metadata.end() ? std::string_view(name->second) : "process";
    std::map<std::string_view, bool> named;
    for (const auto& track : trace_.tracks) {
      if (!named.try_emplace(track.pid, true).second) continue;
      const auto device = device_of.find(track.pid);
      if (device == device_of.end()) {
        metadata_event("process_name", track.pid, "0", "name", process);
        metadata_event("process_labels", track.pid, "0", "labels", "CPU");
        metadata_event("process_sort_index", track.pid, "0", "sort_index", integer_of(track.pid).value_or(0));
      } else {
        const trace::DeviceProperties* properties = trace_.device(device->second);
        const bool cpu = properties != nullptr && properties->is_cpu;
        const bool has_name = properties != nullptr && !properties->name.empty();
        metadata_event("process_name", track.pid, "0", "name", has_name ? properties->name : process);
        metadata_event("process_labels", track.pid, "0", "labels",
                       (cpu ? "CPU device " : "GPU ") + std::to_string(device->second));
        metadata_event("process_sort_index", track.pid, "0", "sort_index",
                       int64_t{5'000'000} + device->second);
      }
    }
    for (const auto& track : trace_.tracks) {
      if (!track.name.empty()) metadata_event("thread_name", track.pid, track.tid, "name", track.name);
      if (const auto order = integer_of(track.tid))
        metadata_event("thread_sort_index", track.pid, track.tid, "sort_index", *order);
    }
  }

  void metadata_head(std::string_view name, std::string_view pid, std::string_view tid,
                     std::string_view argument) {
    next();
    out_ += "\"name\": ";
    append_string(out_, name);
    out_ += ", \"ph\": \"M\", \"ts\": 0.000, \"pid\": ";
    append_id(out_, pid);
    out_ += ", \"tid\": ";
    append_id(out_, tid);
    out_ += ", \"args\": {\"";
    out_ += argument;
    out_ += "\": ";
  }
  void metadata_event(std::string_view name, std::string_view pid, std::string_view tid,
                      std::string_view argument, std::string_view value) {
    metadata_head(name, pid, tid, argument);
    append_string(out_, value);
    out_ += "}}";
  }
  void metadata_event(std::string_view name, std::string_view pid, std::string_view tid,
                      std::string_view argument, int64_t value) {
    metadata_head(name, pid, tid, argument);
    append_int(out_, value);
    out_ += "}}";
  }

  const Trace& trace_;
  std::string out_;
  std::vector<std::string> track_ids_;          // ', "pid": 1, "tid": 1' by track
  std::unordered_map<StringId, bool> is_list_;  // texts that were judged already
  bool first_event_ = true;
  bool first_argument_ = true;
};

}  // namespace

std::string write(const Trace& trace) { return Writer(trace).write(); }

}  // namespace hunch::formats::chrome_json
