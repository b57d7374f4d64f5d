// The head and the track names.
// In:  a Trace and the text so far. Out: the text with the part appended.
// Holds: Kineto's names of fields throughout, so that its readers find them; what hunch adds begins with
// "hunch"; a Trace read from such a file gets the same devices, metadata and names again.
#include "hunch/formats/chrome_json/frame.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "hunch/formats/chrome_json/json_text.h"

namespace hunch::formats::chrome_json {
namespace {

using trace::EventId;
using trace::Trace;

constexpr std::string_view kDistributed = "distributedInfo.";

// Written from other parts of the Trace than its metadata.
constexpr std::array<std::string_view, 7> kReserved = {
    "schemaVersion", "deviceProperties", "displayTimeUnit", "baseTimeNanoseconds",
    "traceEvents",   "traceName",        "distributedInfo"};

void append_member(std::string& out, std::string_view name, std::string_view value) {
  append_string(out, name);
  out += ": ";
  append_id(out, value);
}

// An object in the file, flat in the Trace: "distributedInfo.rank".
void append_distributed_info(std::string& out, const Trace& trace) {
  bool first = true;
  for (auto at = trace.metadata.lower_bound(std::string(kDistributed));
       at != trace.metadata.end() && at->first.starts_with(kDistributed); ++at) {
    out += first ? "  \"distributedInfo\": {" : ", ";
    first = false;
    append_member(out, std::string_view(at->first).substr(kDistributed.size()), at->second);
  }
  if (!first) out += "},\n";
}

void append_device(std::string& out, const trace::DeviceProperties& device) {
  out += "\"id\": ";
  append_int(out, device.id);
  out += ", \"name\": ";
  append_string(out, device.name);
  const auto field = [&](std::string_view key, int64_t value) {
    if (value == 0) return;  // not said
    out += ", \"";
    out += key;
    out += "\": ";
    append_int(out, value);
  };
  field("totalGlobalMem", device.memory_bytes);
  if (!device.is_cpu) {
    field("computeMajor", device.compute_major);
    if (device.compute_major != 0) {  // its minor may well be 0
      out += ", \"computeMinor\": ";
      append_int(out, device.compute_minor);
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
    out += ", \"hunchDeviceKind\": \"cpu\"";
  }
}

// The metadata events of one track after the other.
class TrackNames {
 public:
  TrackNames(std::string& out, const Trace& trace) : out_(out), trace_(trace) {
    if (trace.size() == 0) return;
    const trace::Ns first = *std::min_element(trace.start.begin(), trace.start.end());
    time_ = static_cast<trace::Ns>(static_cast<uint64_t>(first) - static_cast<uint64_t>(trace.base_time));
  }

  void append() {
    processes();
    for (const auto& track : trace_.tracks) {
      if (!track.name.empty()) event("thread_name", track.pid, track.tid, "name", track.name);
      if (const auto order = plain_integer(track.tid))
        event("thread_sort_index", track.pid, track.tid, "sort_index", *order);
    }
  }

 private:
  void processes() {
    std::map<std::string_view, int32_t> device_of;  // by pid, where device work ran
    for (EventId row = 0; row < trace_.size(); ++row)
      if (const auto* detail = trace_.device_detail(row))
        device_of.try_emplace(trace_.tracks[trace_.track[row]].pid, std::max(detail->device, 0));
    std::set<std::string_view> named;
    for (const auto& track : trace_.tracks) {
      if (!named.insert(track.pid).second) continue;
      const auto device = device_of.find(track.pid);
      if (device == device_of.end()) {
        if (!track.process.empty()) {
          event("process_name", track.pid, "0", "name", track.process);
          event("process_labels", track.pid, "0", "labels", "CPU");
        }
        event("process_sort_index", track.pid, "0", "sort_index", plain_integer(track.pid).value_or(0));
        continue;
      }
      const std::string id = std::to_string(device->second);
      const trace::DeviceProperties* properties = trace_.device(device->second);
      const bool has_name = properties != nullptr && !properties->name.empty();
      event("process_name", track.pid, "0", "name", has_name ? properties->name : "device " + id);
      event("process_labels", track.pid, "0", "labels", track.process.empty() ? "GPU " + id : track.process);
      event("process_sort_index", track.pid, "0", "sort_index", int64_t{5'000'000} + device->second);
    }
  }

  void head(std::string_view name, std::string_view pid, std::string_view tid, std::string_view argument) {
    open_event(out_);
    out_ += "\"name\": ";
    append_string(out_, name);
    out_ += ", \"ph\": \"M\", \"ts\": ";
    append_time(out_, time_);
    out_ += ", \"pid\": ";
    append_id(out_, pid);
    out_ += ", \"tid\": ";
    append_id(out_, tid);
    out_ += ", \"args\": {\"";
    out_ += argument;
    out_ += "\": ";
  }
  void event(std::string_view name, std::string_view pid, std::string_view tid, std::string_view argument,
             std::string_view value) {
    head(name, pid, tid, argument);
    append_string(out_, value);
    out_ += "}}";
  }
  void event(std::string_view name, std::string_view pid, std::string_view tid, std::string_view argument,
             int64_t value) {
    head(name, pid, tid, argument);
    append_int(out_, value);
    out_ += "}}";
  }

  std::string& out_;
  const Trace& trace_;
  trace::Ns time_ = 0;  // of the first event, as the profiler has it
};

}  // namespace

void open_event(std::string& out) { out += out.back() == '[' ? "\n  {" : ",\n  {"; }

void append_head(std::string& out, const Trace& trace) {
  out += "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [";
  for (std::size_t i = 0; i < trace.devices.size(); ++i) {
    out += i == 0 ? "\n    {" : ",\n    {";
    append_device(out, trace.devices[i]);
    out += '}';
  }
  out += "\n  ],\n";
  for (const auto& [key, value] : trace.metadata) {
    if (std::find(kReserved.begin(), kReserved.end(), key) != kReserved.end() ||
        key.starts_with(kDistributed))
      continue;
    out += "  ";
    append_member(out, key, value);
    out += ",\n";
  }
  append_distributed_info(out, trace);
  out += "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ";
  append_int(out, trace.base_time);
  out += ",\n";
}

void append_track_names(std::string& out, const Trace& trace) { TrackNames(out, trace).append(); }

}  // namespace hunch::formats::chrome_json
