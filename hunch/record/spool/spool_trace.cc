// Ranges are put together from their two ends, thread by thread; the rest is the work of build_trace.
#include "hunch/record/spool/spool_trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hunch/base/clock.h"
#include "hunch/record/build_trace.h"
#include "hunch/trace/nvtx_text.h"

namespace hunch::record::spool {
namespace {

struct Range {
  std::size_t event = 0;  // its begin
  Ns end = HostEvent::kOpen;
};

class Maker {
 public:
  explicit Maker(Spool spool) : spool_(std::move(spool)) {}

  trace::Trace make() {
    on_our_clock();
    name_threads();
    for (const auto& [tid, ranges] : whole_ranges()) add(tid, ranges);
    tell_what_is_missing();
    RecordingParts parts;
    for (auto& [tid, buffer] : buffers_) parts.buffers.push_back(std::move(buffer));
    parts.devices = std::move(spool_.devices);
    parts.metadata = std::move(spool_.activity.metadata);
    parts.warnings = std::move(warnings_);
    parts.pid = spool_.process.pid;
    parts.process = spool_.process.name;
    parts.activity = std::move(spool_.activity);
    parts.started = std::numeric_limits<Ns>::min();  // all that the process did belongs to it
    return build_trace(std::move(parts));
  }

 private:
  void on_our_clock() {
    const Ns shift = base::clock_shift() - spool_.process.clock_shift;
    if (shift == 0) return;
    for (auto& call : spool_.activity.calls) move(call, shift);
    for (auto& work : spool_.activity.work) move(work, shift);
    for (auto& wait : spool_.activity.synchronizations) move(wait, shift);
    for (auto& overhead : spool_.activity.overheads) move(overhead, shift);
    for (auto& range : spool_.ranges) range.time += shift;
  }
  static void move(auto& record, Ns by) {
    record.start += by;
    record.end += by;
  }

  ThreadBuffer& buffer_of(int64_t tid) {
    auto& buffer = buffers_[tid];
    if (buffer == nullptr) {
      buffer = std::make_unique<ThreadBuffer>();
      buffer->thread = buffers_.size();
      buffer->tid = tid;
    }
    return *buffer;
  }

  void name_threads() {
    for (const auto& [tid, name] : spool_.threads) buffer_of(tid).name = name;
  }

  // By thread, by start; what encloses comes before what it encloses.
  std::map<int64_t, std::vector<Range>> whole_ranges() {
    std::map<int64_t, std::vector<Range>> of_thread;
    std::map<std::pair<int64_t, std::string_view>, std::vector<std::size_t>> pushed;  // places in of_thread
    std::unordered_map<uint64_t, std::pair<int64_t, std::size_t>> started;
    for (std::size_t i = 0; i < spool_.ranges.size(); ++i) {
      const RangeEvent& event = spool_.ranges[i];
      auto& ranges = of_thread[event.tid];
      switch (event.what) {
        case RangeWhat::push:
          pushed[{event.tid, event.domain}].push_back(ranges.size());
          ranges.push_back({i});
          break;
        case RangeWhat::start:
          started[event.id] = {event.tid, ranges.size()};
          ranges.push_back({i});
          break;
        case RangeWhat::pop: {
          auto& open = pushed[{event.tid, event.domain}];
          if (open.empty()) break;  // of a push before the recording
          ranges[open.back()].end = event.time;
          open.pop_back();
          break;
        }
        case RangeWhat::end: {
          const auto found = started.find(event.id);
          if (found == started.end()) break;
          of_thread[found->second.first][found->second.second].end = event.time;
          started.erase(found);
          break;
        }
      }
    }
    for (auto& [tid, ranges] : of_thread) {
      std::erase_if(ranges, [&](const Range& range) {
        return range.end != HostEvent::kOpen && range.end < spool_.ranges[range.event].time;
      });
      std::stable_sort(ranges.begin(), ranges.end(), [&](const Range& a, const Range& b) {
        return spool_.ranges[a.event].time < spool_.ranges[b.event].time;
      });
    }
    return of_thread;
  }

  void add(int64_t tid, const std::vector<Range>& ranges) {
    ThreadBuffer& buffer = buffer_of(tid);
    for (const Range& range : ranges) {
      const RangeEvent& from = spool_.ranges[range.event];
      const trace::RangeText said = trace::range_text(from.text);
      HostEvent event;
      event.kind = kind_of(said.kind);
      if (trace::is_library_domain(from.domain)) event.kind = HostKind::op;
      event.name = buffer.text.keep(said.name);
      event.dims = buffer.text.keep(said.sizes);
      event.sequence = said.sequence;
      event.start = from.time;
      event.end = range.end;
      std::erase_if(buffer.open, [&](uint32_t outer) {
        return buffer.host[outer].end != HostEvent::kOpen && buffer.host[outer].end <= event.start;
      });
      buffer.open.push_back(buffer.begin(event));
    }
    buffer.open.clear();
  }

  static HostKind kind_of(trace::EventKind kind) {
    switch (kind) {
      case trace::EventKind::op:
        return HostKind::op;
      case trace::EventKind::step:
        return HostKind::step;
      default:
        return HostKind::annotation;
    }
  }

  void tell_what_is_missing() {
    if (spool_.cut && !spool_.cut_reason.empty())
      warnings_.push_back("the process's recording is damaged at byte " + std::to_string(*spool_.cut) + " (" +
                          spool_.cut_reason + "): what comes after is missing");
    else if (!spool_.ended)
      warnings_.emplace_back(
          "the process ended before its recording did (killed, crashed, or left by _exit): what the device "
          "had not reported by then is missing");
  }

  Spool spool_;
  std::map<int64_t, std::unique_ptr<ThreadBuffer>> buffers_;
  std::vector<std::string> warnings_;
};

}  // namespace

trace::Trace trace_of(Spool spool) { return Maker(std::move(spool)).make(); }

}  // namespace hunch::record::spool
