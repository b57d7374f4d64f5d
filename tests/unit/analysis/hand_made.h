// Traces made by hand for tests, in microseconds as people read them; the Trace holds nanoseconds.
#pragma once

#include <string_view>

#include "hunch/trace/builder.h"

namespace hunch::analysis {

class HandMade {
 public:
  using EventId = trace::EventId;
  using Kind = trace::EventKind;

  // A host event of kind `kind` on thread `tid` of process `pid`, from start to end (microseconds).
  EventId host(Kind kind, std::string_view name, double start, double end, std::string_view tid = "1",
               std::string_view pid = "100") {
    return add(kind, name, builder_.track(pid, tid), start, end, 0, nullptr);
  }
  EventId op(std::string_view name, double start, double end, std::string_view tid = "1",
             std::string_view pid = "100") {
    return host(Kind::op, name, start, end, tid, pid);
  }
  // An op that autograd numbered: forward ops with thread 0, backward ops with the forward's thread id.
  EventId numbered_op(std::string_view name, double start, double end, std::string_view tid, int64_t sequence,
                      int64_t forward_thread) {
    trace::OpDetail detail;
    detail.sequence_number = sequence;
    detail.forward_thread = forward_thread;
    return add(Kind::op, name, builder_.track("100", tid), start, end, 0, nullptr, &detail);
  }
  EventId range(std::string_view name, double start, double end, std::string_view tid = "1",
                std::string_view pid = "100") {
    return host(Kind::annotation, name, start, end, tid, pid);
  }
  EventId call(uint64_t correlation, double start, double end, std::string_view tid = "1",
               std::string_view pid = "100", Kind kind = Kind::runtime_call,
               std::string_view name = "cudaLaunchKernel") {
    return add(kind, name, builder_.track(pid, tid), start, end, correlation, nullptr);
  }
  // Device work on stream 7 of device 0.
  EventId kernel(uint64_t correlation, double start, double end, std::string_view name = "some_kernel",
                 std::string_view pid = "0", int device = 0) {
    return device_work(Kind::kernel, correlation, start, end, name, pid, device);
  }
  EventId device_work(Kind kind, uint64_t correlation, double start, double end, std::string_view name,
                      std::string_view pid = "0", int device = 0) {
    trace::DeviceDetail detail;
    detail.device = device;
    detail.stream = 7;
    return add(kind, name, builder_.track(pid, "7"), start, end, correlation, &detail);
  }
  void memory(double time, int64_t delta, int64_t in_use, int device = 0, std::string_view pid = "100") {
    builder_.add_memory({ns(time), builder_.track(pid, "1"), delta, in_use, device});
  }

  trace::TraceBuilder& builder() { return builder_; }
  trace::Trace finish() { return builder_.finish(); }

  uint64_t external_id = 0;  // given to events added from now on

 private:
  static trace::Ns ns(double microseconds) { return static_cast<trace::Ns>(microseconds * 1000.0 + 0.5); }

  EventId add(Kind kind, std::string_view name, uint32_t track, double start, double end,
              uint64_t correlation, const trace::DeviceDetail* device, const trace::OpDetail* op = nullptr) {
    trace::Event event;
    event.kind = kind;
    event.name = name;
    event.track = track;
    event.start = ns(start);
    event.duration = ns(end) - ns(start);
    event.correlation = correlation;
    event.external_id = external_id;
    event.source_index = next_++;
    event.device = device;
    event.op = op;
    return builder_.add(event);
  }

  trace::TraceBuilder builder_;
  uint32_t next_ = 0;
};

}  // namespace hunch::analysis
