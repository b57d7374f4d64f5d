// The join: a hash table from correlation to call, with the few correlations that several calls share kept
// aside in sorted order. See launch_links.h for the rules.
#include "hunch/analysis/launch_links.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

// Clocks of host and device may differ by this much when time has to choose among calls.
constexpr Ns kClockSkew = 5'000;
constexpr uint32_t kUnknown = UINT32_MAX - 1;    // nothing seen yet
constexpr uint32_t kAmbiguous = UINT32_MAX - 2;  // more than one process

struct Calls {
  const EventId* first = nullptr;
  std::size_t count = 0;
};

class CallTable {
 public:
  CallTable(const Trace& trace, const Processes& processes) : trace_(trace), processes_(processes) {
    std::size_t calls = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) calls += is_call(i);
    const std::size_t capacity = std::bit_ceil(2 * calls + 2);
    shift_ = 64 - std::countr_zero(capacity);
    slots_.assign(capacity, Slot{});
    std::size_t sharing = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (!is_call(i)) continue;
      Slot& slot = find(trace.correlation[i]);
      if (slot.count == 0) {
        slot = Slot{trace.correlation[i], static_cast<EventId>(i), 1};
      } else {
        sharing += slot.count == 1 ? 2 : 1;
        ++slot.count;
      }
    }
    if (sharing > 0) sort_shared(sharing);
  }

  // All calls with this correlation: by process, runtime before driver, then by start.
  Calls of(uint64_t correlation) {
    if (correlation == 0) return {};
    const Slot& slot = find(correlation);
    if (slot.count == 0) return {};
    if (slot.count == 1) return {&slot.first, 1};
    return {shared_.data() + slot.first, slot.count};
  }

  uint32_t process_of(EventId event) const { return processes_.of_track[trace_.track[event]]; }

 private:
  struct Slot {
    uint64_t correlation = 0;
    uint32_t first = kNone;  // the call itself, or where its group begins in shared_
    uint32_t count = 0;      // 0: free
  };

  bool is_call(std::size_t event) const {
    return trace::is_api_call(trace_.kind[event]) && trace_.correlation[event] != 0;
  }

  Slot& find(uint64_t correlation) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (correlation * 0x9E3779B97F4A7C15u) >> shift_;
    while (slots_[at].count != 0 && slots_[at].correlation != correlation) at = (at + 1) & mask;
    return slots_[at];
  }

  void sort_shared(std::size_t sharing) {
    shared_.reserve(sharing);
    for (std::size_t i = 0; i < trace_.size(); ++i)
      if (is_call(i) && find(trace_.correlation[i]).count > 1) shared_.push_back(static_cast<EventId>(i));
    const auto key = [this](EventId id) {
      return std::tuple(trace_.correlation[id], process_of(id), trace_.kind[id], trace_.start[id], id);
    };
    static_assert(EventKind::runtime_call < EventKind::driver_call);
    std::sort(shared_.begin(), shared_.end(), [&key](EventId a, EventId b) { return key(a) < key(b); });
    for (std::size_t i = 0; i < shared_.size();) {
      Slot& slot = find(trace_.correlation[shared_[i]]);
      slot.first = static_cast<uint32_t>(i);
      i += slot.count;
    }
  }

  const Trace& trace_;
  const Processes& processes_;
  std::vector<Slot> slots_;
  std::vector<EventId> shared_;
  int shift_ = 0;
};

// The one process that all calls of a group belong to, or kAmbiguous.
uint32_t only_process(const CallTable& table, Calls calls) {
  const uint32_t first = table.process_of(calls.first[0]);
  return first == table.process_of(calls.first[calls.count - 1]) ? first : kAmbiguous;  // sorted by process
}

EventId choose(const Trace& trace, const CallTable& table, Calls calls, uint32_t process, Ns work_start) {
  const EventId* const end = calls.first + calls.count;
  const EventId* const begin =
      std::partition_point(calls.first, end, [&](EventId call) { return table.process_of(call) < process; });
  if (begin == end || table.process_of(*begin) != process) return kNone;
  const EventKind kind = trace.kind[*begin];  // runtime, where there is one
  const EventId* const after = std::partition_point(begin, end, [&](EventId call) {
    return table.process_of(call) == process && trace.kind[call] == kind &&
           trace.start[call] <= work_start + kClockSkew;
  });
  return after == begin ? *begin : *(after - 1);
}

// Which process each track's device work comes from; kUnknown or kAmbiguous where that cannot be told.
std::vector<uint32_t> processes_of_device_tracks(const Trace& trace, const std::vector<EventId>& device_order,
                                                 const Processes& processes, CallTable& table) {
  std::vector<bool> launches(processes.count, false);
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace::is_api_call(trace.kind[i])) launches[processes.of_track[trace.track[i]]] = true;

  // A pid that is the number of the work's own device names the device, even where some process has that
  // number as well.
  std::vector<bool> named_by_device(trace.tracks.size(), false);
  for (const EventId work : device_order) {
    const auto* detail = trace.device_detail(work);
    const uint32_t track = trace.track[work];
    if (named_by_device[track] || !launches[processes.of_track[track]] || detail == nullptr) continue;
    if (detail->device >= 0 && trace.tracks[track].pid == std::to_string(detail->device))
      named_by_device[track] = true;
  }
  std::vector<uint32_t> from(trace.tracks.size(), kUnknown);
  std::vector<bool> told(trace.tracks.size(), false);
  for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
    if (!launches[processes.of_track[t]] || named_by_device[t]) continue;
    from[t] = processes.of_track[t];
    told[t] = true;
  }
  for (const EventId work : device_order) {
    const uint32_t track = trace.track[work];
    if (told[track]) continue;
    const Calls calls = table.of(trace.correlation[work]);
    if (calls.count == 0) continue;
    const uint32_t process = only_process(table, calls);
    if (process == kAmbiguous) continue;
    from[track] = from[track] == kUnknown || from[track] == process ? process : kAmbiguous;
  }
  return from;
}

}  // namespace

uint64_t link_launches(const Trace& trace, const std::vector<EventId>& device_order,
                       std::vector<EventId>& launch) {
  const Processes processes = number_processes(trace);
  CallTable table(trace, processes);
  const std::vector<uint32_t> from = processes_of_device_tracks(trace, device_order, processes, table);
  uint64_t unlinked = 0;
  for (const EventId work : device_order) {
    const Calls calls = table.of(trace.correlation[work]);
    EventId call = kNone;
    if (calls.count > 0) {
      uint32_t process = from[trace.track[work]];
      if (process == kAmbiguous || process == kUnknown) process = only_process(table, calls);
      call = choose(trace, table, calls, process, trace.start[work]);
    }
    launch[work] = call;
    if (call == kNone) ++unlinked;
  }
  return unlinked;
}

}  // namespace hunch::analysis
