// The Probe: what ops, streams and allocators tell whoever listens. It is the only thing that attention
// and ops know of recording; record/ implements it, tests implement it with a counter.
//
// Order that holds on every thread: begin_span and end_span nest; launch_begin and launch_end enclose the
// call that enqueues work; device_work comes later, from the thread that ran the work, with the same
// correlation. With no probe installed nothing is recorded and the cost is one relaxed load.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hunch/base/clock.h"

namespace hunch::base {

enum class SpanKind {
  op,          // one operation, such as "hunch::matmul"
  annotation,  // a range that a person named, such as "attn_fwd"
  step,        // one step of a schedule, "ProfilerStep#3"
};

enum class WorkKind { kernel, memcpy, memset };

// One piece of device work, as launched. `name` must outlive the recording: a literal or interned.
struct WorkInfo {
  WorkKind kind = WorkKind::kernel;
  std::string_view name;
  int64_t bytes = -1;                         // copies and memsets: bytes moved or set; -1: not said
  std::array<uint32_t, 3> grid = {0, 0, 0};   // kernels: blocks; on the CPU the number of tiles
  std::array<uint32_t, 3> block = {0, 0, 0};  // kernels: threads a block; 1 on the CPU
  int32_t registers = -1;                     // per thread; -1: not known
  int64_t shared_bytes = -1;                  // per block; -1: not known
};

class Probe {
 public:
  virtual ~Probe() = default;

  // `dims` is a short JSON-like text of the inputs' shapes ("[[8,16,1024,64]]"), or empty.
  virtual void begin_span(SpanKind kind, std::string_view name, std::string_view dims) = 0;
  virtual void end_span() = 0;
  // begin_span of an op that also says its inputs' types, as PyTorch's profiler names them:
  // "[\"c10::BFloat16\",\"double\"]".
  virtual void begin_op(std::string_view name, std::string_view dims, std::string_view types) {
    static_cast<void>(types);
    begin_span(SpanKind::op, name, dims);
  }

  // Returns the correlation id that joins this launch call to its device work. `api` is the call's name.
  virtual uint64_t launch_begin(std::string_view api, const WorkInfo& work) = 0;
  virtual void launch_end(uint64_t correlation) = 0;

  // The work of launch `correlation` ran on `stream` from start to end.
  virtual void device_work(uint64_t correlation, const WorkInfo& work, int64_t stream, Ns start, Ns end) = 0;

  // The calling thread itself did a piece of device work from start to end, inside the innermost open span:
  // launch and work in one, under a correlation of their own. Libraries that compute in the calling thread
  // are told of so; Recorder gives the launch these times.
  virtual void work_done(std::string_view api, const WorkInfo& work, int64_t stream, Ns start, Ns end) {
    const uint64_t correlation = launch_begin(api, work);
    launch_end(correlation);
    device_work(correlation, work, stream, start, end);
  }

  // The host waited for the device from start to end in call `api`.
  virtual void host_wait(std::string_view api, Ns start, Ns end) = 0;

  // Device memory in use changed by `delta` bytes, to `in_use` bytes.
  virtual void memory(int64_t delta, int64_t in_use) = 0;

  // True where the probe learns of launches, waits and device work from the device's own tracer (CUPTI): a
  // CUDA device then reports none of them.
  virtual bool traces_device() const { return false; }
};

// The probe that now listens, or null. Spans and launches of any thread go to it.
Probe* current_probe();

// Installs a probe for its own lifetime; restores the one before.
class ScopedProbe {
 public:
  explicit ScopedProbe(Probe* probe);
  ~ScopedProbe();
  ScopedProbe(const ScopedProbe&) = delete;
  ScopedProbe& operator=(const ScopedProbe&) = delete;

 private:
  Probe* before_;
};

// A span for its own lifetime; free when no probe listens.
class Span {
 public:
  Span(SpanKind kind, std::string_view name, std::string_view dims = {}) : probe_(current_probe()) {
    if (probe_ != nullptr) probe_->begin_span(kind, name, dims);
  }
  ~Span() {
    if (probe_ != nullptr) probe_->end_span();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Probe* probe_;
};

}  // namespace hunch::base
