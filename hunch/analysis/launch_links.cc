// The join: a hash table from correlation to call, with the few correlations that several calls share kept
// aside in sorted order. See launch_links.h for the rules.
#include "hunch/analysis/launch_links.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace hunch::analysis {
namespace {

using trace::EventKind;
using trace::Trace;

// Clocks of host and device may differ by this much when time has to choose among calls.
constexpr Ns kClockSkew = 5'000;
constexpr uint32_t kUnknown = UINT32_MAX - 1;    // nothing seen yet
constexpr uint32_t kAmbiguous = UINT32_MAX - 2;  // more than one process

// Of calls that share a correlation, those that one process's work may come from: places of a group.
struct Section {
  uint32_t process = kUnknown;
  uint32_t begin = 0, end = 0;
  uint32_t chosen = 0;  // the last choice, which the next is near to
};

// Calls that share a correlation: by process, runtime before driver, then by start.
struct Calls {
  const EventId* first = nullptr;
  uint32_t count = 0;
  Section* section = nullptr;  // where there are several
};

class CallTable {
 public:
  CallTable(const Trace& trace, const Processes& processes) : trace_(trace), processes_(processes) {
    slots_.resize(kFewest);
    std::vector<EventId> calls;
    std::vector<uint32_t> group_of;  // beside calls
    uint32_t last_calling = kNone;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      if (!trace::is_api_call(trace.kind[i])) continue;
      if (const uint32_t process = process_of(static_cast<EventId>(i)); process != last_calling)
        calling_.insert(last_calling = process);
      if (trace.correlation[i] == 0) continue;
      calls.push_back(static_cast<EventId>(i));
      group_of.push_back(add(trace.correlation[i]));
    }
    // A counting sort that keeps the rows' order, which mostly is the one wanted.
    uint32_t begin = 0;
    for (Group& group : groups_) {
      group.begin = begin;
      begin += std::exchange(group.count, 0);
    }
    calls_.resize(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Group& group = groups_[group_of[i]];
      calls_[group.begin + group.count++] = calls[i];
    }
    if (groups_.size() == calls.size()) return;
    sections_.resize(groups_.size());
    for (const Group& group : groups_)
      if (group.count > 1) sort(group);
  }

  Calls of(uint64_t correlation) {
    if (correlation == 0) return {};
    const Slot& slot = slots_[find(correlation)];
    if (slot.group == kNone) return {};
    const Group& group = groups_[slot.group];
    return {calls_.data() + group.begin, group.count, group.count > 1 ? &sections_[slot.group] : nullptr};
  }

  uint32_t process_of(EventId event) const { return processes_.of_track[trace_.track[event]]; }
  // The processes that make calls.
  const std::set<uint32_t>& calling() const { return calling_; }

 private:
  static constexpr std::size_t kFewest = 4096;

  struct Slot {
    uint64_t correlation = 0;
    uint32_t group = kNone;  // kNone: free
  };
  struct Group {
    uint32_t begin = 0;  // into calls_
    uint32_t count = 0;
  };

  std::size_t find(uint64_t correlation) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (correlation * 0x9E3779B97F4A7C15u) >> (64 - std::countr_zero(slots_.size()));
    while (slots_[at].group != kNone && slots_[at].correlation != correlation) at = (at + 1) & mask;
    return at;
  }

  // Counts one more call in the group of this correlation.
  uint32_t add(uint64_t correlation) {
    Slot& slot = slots_[find(correlation)];
    const uint32_t known = slot.group;
    if (known != kNone) {
      ++groups_[known].count;
      return known;
    }
    const auto group = static_cast<uint32_t>(groups_.size());
    slot = {correlation, group};
    groups_.push_back({0, 1});
    if (2 * groups_.size() > slots_.size()) grow();
    return group;
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.group != kNone) slots_[find(slot.correlation)] = slot;
  }

  void sort(const Group& group) {
    static_assert(EventKind::runtime_call < EventKind::driver_call);
    const auto before = [this](EventId a, EventId b) {
      const auto key = [this](EventId id) {
        return std::tuple(process_of(id), trace_.kind[id], trace_.start[id], id);
      };
      return key(a) < key(b);
    };
    const auto begin = calls_.begin() + static_cast<std::ptrdiff_t>(group.begin);
    const auto end = begin + static_cast<std::ptrdiff_t>(group.count);
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  }

  const Trace& trace_;
  const Processes& processes_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<Group> groups_;
  std::vector<EventId> calls_;     // group by group
  std::vector<Section> sections_;  // by group; none where no correlation is shared
  std::set<uint32_t> calling_;
};

// The one process that all calls of a group belong to, or kAmbiguous.
uint32_t only_process(const CallTable& table, Calls calls) {
  const uint32_t first = table.process_of(calls.first[0]);
  return first == table.process_of(calls.first[calls.count - 1]) ? first : kAmbiguous;  // sorted by process
}

// The calls of one process: its runtime's, where there are any.
Section section_of(const Trace& trace, const CallTable& table, Calls calls, uint32_t process) {
  const EventId* const end = calls.first + calls.count;
  const EventId* const begin =
      std::partition_point(calls.first, end, [&](EventId call) { return table.process_of(call) < process; });
  const EventId* const behind = std::partition_point(begin, end, [&](EventId call) {
    return table.process_of(call) == process && trace.kind[call] == trace.kind[*begin];
  });
  const auto place = [&](const EventId* call) { return static_cast<uint32_t>(call - calls.first); };
  return {process, place(begin), place(behind), place(begin)};
}

// The call of this process that started last before the work; the first where all started later.
EventId choose(const Trace& trace, const CallTable& table, Calls calls, uint32_t process, Ns work_start) {
  if (calls.count == 1) return table.process_of(*calls.first) == process ? *calls.first : kNone;
  Section& section = *calls.section;
  if (section.process != process) section = section_of(trace, table, calls, process);
  if (section.begin == section.end) return kNone;
  const Ns latest = work_start + kClockSkew;
  const auto started = [&](uint32_t place) { return trace.start[calls.first[place]] <= latest; };
  // Work comes by start: the choice is the last one or lies behind it, unless the section is new.
  uint32_t& chosen = section.chosen;
  if (chosen > section.begin && !started(chosen)) chosen = section.begin;
  constexpr uint32_t kNear = 4;
  for (uint32_t step = 0; chosen + 1 < section.end && started(chosen + 1); ++step, ++chosen) {
    if (step < kNear) continue;
    const EventId* const behind =
        std::partition_point(calls.first + chosen, calls.first + section.end,
                             [&](EventId call) { return trace.start[call] <= latest; });
    chosen = static_cast<uint32_t>(behind - calls.first) - 1;
    break;
  }
  return calls.first[chosen];
}

// Which process each track's device work comes from; kUnknown or kAmbiguous where that cannot be told.
std::vector<uint32_t> processes_of_device_tracks(const Trace& trace, const std::vector<EventId>& device_order,
                                                 const Processes& processes, CallTable& table) {
  std::vector<bool> launches(processes.count, false);
  for (const uint32_t process : table.calling()) launches[process] = true;

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
  if (table.calling().size() == 1) {
    for (uint32_t& each : from) each = *table.calling().begin();
    return from;
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
