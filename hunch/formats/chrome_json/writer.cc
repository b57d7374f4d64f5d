// A Trace as Chrome JSON in the form of PyTorch's profiler, so that Perfetto and the tools made for PyTorch
// traces open what hunch recorded.
//
// In:  any Trace, recorded or read. Out: valid JSON. The Trace's rows come first in "traceEvents", in order,
// so that a row's number finds the event in the file; then memory, flow arrows and the names of tracks.
// Holds: reading the text again gives the same columns. Times are printed from integers. What the Trace
// does not know is left out, never made up.
#include "hunch/formats/chrome_json/writer.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "hunch/formats/chrome_json/frame.h"
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
    append_head(out_, trace_);
    out_ += "  \"traceEvents\": [";
    for (EventId row = 0; row < trace_.size(); ++row) complete_event(row);
    for (const auto& change : trace_.memory) memory_event(change);
    flows();
    append_track_names(out_, trace_);
    out_ += "\n  ],\n  \"traceName\": ";
    const auto name = trace_.metadata.find("traceName");
    append_string(out_, name != trace_.metadata.end() ? name->second : trace_.source);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  void complete_event(EventId row) {
    open_event(out_);
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
    list_text("Concrete Inputs", op.input_values);
    list_text("Input Strides", op.input_strides);
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
    if (added) known_text->second = is_json_list(trace_.strings.view(text));
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
    known("hunch driver blocks per SM", detail.driver_blocks);
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
    open_event(out_);
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
    open_event(out_);
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

  const Trace& trace_;
  std::string out_;
  std::vector<std::string> track_ids_;          // ', "pid": 1, "tid": 1' by track
  std::unordered_map<StringId, bool> is_list_;  // texts that were judged already
  bool first_argument_ = true;
};

}  // namespace

std::string write(const Trace& trace) { return Writer(trace).write(); }

}  // namespace hunch::formats::chrome_json
