// The join, in three passes over the tracer's calls: leave out what is not this recording's, find for each
// thread which call lies inside which, then place what is kept. See join_activity.h for what holds.
#include "hunch/record/join_activity.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace hunch::record {
namespace {

constexpr uint64_t kOwnCorrelations = uint64_t{1} << 32;  // above all correlations of a tracer

std::string counted(uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

class Joiner {
 public:
  explicit Joiner(RecordingParts& parts) : parts_(parts), activity_(*parts.activity) {}

  JoinedActivity join() {
    move_own_correlations();
    find_ops();
    keep_outermost_calls();
    place_calls();
    place_work();
    warn();
    return std::move(joined_);
  }

 private:
  std::string_view name_of(trace::StringId name) const { return activity_.names.view(name); }

  // A device without a tracer may be recorded beside one that has it: their correlations must not meet.
  void move_own_correlations() {
    for (const auto& buffer : parts_.buffers) {
      for (std::size_t i = 0; i < buffer->host.size(); ++i)
        if (is_call(buffer->host[i].kind)) buffer->host[i].correlation += kOwnCorrelations;
      for (std::size_t i = 0; i < buffer->device.size(); ++i)
        buffer->device[i].correlation += kOwnCorrelations;
    }
  }

  struct Place {
    uint32_t buffer = 0;
    uint32_t event = kNoEvent;
  };

  void find_ops() {
    for (uint32_t b = 0; b < parts_.buffers.size(); ++b) {
      const ThreadBuffer& buffer = *parts_.buffers[b];
      buffer_of_tid_.try_emplace(buffer.tid, b);
      for (uint32_t i = 0; i < buffer.host.size(); ++i)
        if (buffer.host[i].external != 0) op_of_external_[buffer.host[i].external] = {b, i};
    }
  }

  void keep_outermost_calls() {
    std::vector<const ApiCall*> calls;
    for (const ApiCall& call : activity_.calls) {
      if (call.start < parts_.started) {
        earlier_.insert(call.correlation);
        continue;
      }
      calls.push_back(&call);
      if (call.driver_blocks >= 0) blocks_[call.correlation] = call.driver_blocks;
    }
    std::stable_sort(calls.begin(), calls.end(), [](const ApiCall* a, const ApiCall* b) {
      return std::tuple(a->tid, a->start, -a->end, a->driver) <
             std::tuple(b->tid, b->start, -b->end, b->driver);
    });
    const ApiCall* outer = nullptr;
    for (const ApiCall* call : calls) {
      const bool inside = outer != nullptr && outer->tid == call->tid && call->end <= outer->end;
      if (!inside) {
        outer = call;
      } else if (!loads_code(*call)) {
        if (call->correlation != outer->correlation) stands_for_[call->correlation] = outer->correlation;
        continue;
      }
      kept_.push_back(call);
    }
  }

  // Loading code is no part of launching: what it costs is told apart.
  bool loads_code(const ApiCall& call) const {
    return call.driver && starts_with_any(name_of(call.name), {"cuModuleLoad", "cuLibraryLoad", "cuLink"});
  }

  // Calls of a thread come in order, so one walk along the thread's spans finds what is open around each.
  void place_calls() {
    uint32_t buffer = UINT32_MAX;
    std::vector<uint32_t> spans;  // of the thread, by start, inner after outer
    std::vector<uint32_t> open;
    std::size_t next = 0;
    for (const ApiCall* call : kept_) {
      const uint32_t of_call = buffer_of(call->tid);
      ThreadBuffer& thread = *parts_.buffers[of_call];
      if (of_call != buffer) {
        buffer = of_call;
        spans = spans_of(thread);
        open.clear();
        next = 0;
      }
      while (next < spans.size() && thread.host[spans[next]].start <= call->start)
        open.push_back(spans[next++]);
      std::erase_if(open, [&](uint32_t span) {
        const HostEvent& event = thread.host[span];
        return event.end != HostEvent::kOpen && event.end < call->start;
      });
      place(*call, thread, open);
    }
  }

  static std::vector<uint32_t> spans_of(const ThreadBuffer& thread) {
    std::vector<uint32_t> spans;
    for (uint32_t i = 0; i < thread.host.size(); ++i)
      if (!is_call(thread.host[i].kind)) spans.push_back(i);
    return spans;  // spans of a thread begin in order
  }

  void place(const ApiCall& call, ThreadBuffer& thread, const std::vector<uint32_t>& open) {
    HostEvent event;
    event.kind = call.driver ? HostKind::driver_call : HostKind::runtime_call;
    event.name = name_of(call.name);
    event.start = call.start;
    event.end = call.end;
    event.correlation = call.correlation;
    for (const uint32_t span : open) {
      const HostKind kind = thread.host[span].kind;
      (kind == HostKind::op ? event.op : event.range) = span;
    }
    if (call.external != 0) {
      const auto op = op_of_external_.find(call.external);
      if (op != op_of_external_.end() && parts_.buffers[op->second.buffer].get() == &thread)
        event.op = op->second.event;
    }
    thread.host.add(event);
    const bool launches = call.result == 0 && is_kernel_launch(event.name);
    if (launches) launched_.push_back(call.correlation);
    captures_ = captures_ || event.name.find("BeginCapture") != std::string_view::npos;
  }

  static bool is_kernel_launch(std::string_view name) {
    return starts_with_any(
        name, {"cudaLaunchKernel", "cudaLaunchCooperative", "cuLaunchKernel", "cuLaunchCooperative"});
  }

  uint32_t buffer_of(int64_t tid) {
    const auto [found, added] = buffer_of_tid_.try_emplace(tid, static_cast<uint32_t>(parts_.buffers.size()));
    if (added) {
      auto made = std::make_unique<ThreadBuffer>();
      made->tid = tid;
      parts_.buffers.push_back(std::move(made));
    }
    return found->second;
  }

  void place_work() {
    std::unordered_set<uint32_t> worked;
    for (const TracedWork& from : activity_.work) {
      const auto outer = stands_for_.find(from.correlation);
      const uint32_t correlation = outer == stands_for_.end() ? from.correlation : outer->second;
      if (earlier_.count(correlation) != 0) continue;
      worked.insert(correlation);
      DeviceEvent event;
      event.correlation = correlation;
      event.work.kind = from.kind;
      event.work.name = name_of(from.name);
      event.work.bytes = from.bytes;
      event.work.grid = from.grid;
      event.work.block = from.block;
      event.work.registers = from.registers;
      if (from.static_shared_bytes >= 0 && from.dynamic_shared_bytes >= 0)
        event.work.shared_bytes = from.static_shared_bytes + from.dynamic_shared_bytes;
      event.stream = from.stream;
      event.start = from.start;
      event.end = from.end;
      event.device = from.device;
      const auto blocks = blocks_.find(from.correlation);
      if (blocks != blocks_.end() && from.kind == base::WorkKind::kernel && from.graph_node_id < 0)
        event.driver_blocks = blocks->second;
      event.graph_id = from.graph_id;
      event.graph_node_id = from.graph_node_id;
      joined_.work.push_back(event);
    }
    if (captures_) return;  // launches into a graph do no work
    idle_launches_ = static_cast<uint64_t>(
        std::count_if(launched_.begin(), launched_.end(),
                      [&worked](uint32_t correlation) { return worked.count(correlation) == 0; }));
  }

  void warn() {
    if (activity_.lost > 0)
      joined_.warnings.push_back(
          counted(activity_.lost, "record", "records") +
          " of the device's tracer lost, so counts may be too low: its buffers were full");
    if (activity_.untimed > 0)
      joined_.warnings.push_back(counted(activity_.untimed, "piece", "pieces") +
                                 " of device work without times, left out");
    if (idle_launches_ > 0)
      joined_.warnings.push_back(
          counted(idle_launches_, "launch", "launches") +
          " without device work: the recording ended before it ran, or its record was lost");
    for (const std::string& warning : activity_.warnings) joined_.warnings.push_back(warning);
  }

  RecordingParts& parts_;
  DeviceActivity& activity_;
  JoinedActivity joined_;
  std::unordered_map<int64_t, uint32_t> buffer_of_tid_;
  std::unordered_map<uint64_t, Place> op_of_external_;
  std::unordered_map<uint32_t, int32_t> blocks_;       // by correlation of the launch
  std::unordered_set<uint32_t> earlier_;               // correlations of calls before the recording
  std::unordered_map<uint32_t, uint32_t> stands_for_;  // inner call's correlation -> outer's
  std::vector<const ApiCall*> kept_;                   // by thread and start
  std::vector<uint32_t> launched_;                     // correlations of launches that succeeded
  uint64_t idle_launches_ = 0;
  bool captures_ = false;
};

}  // namespace

JoinedActivity join_activity(RecordingParts& parts) { return Joiner(parts).join(); }

}  // namespace hunch::record
