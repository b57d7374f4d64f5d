// The Recorder: a Probe that keeps what it is told and turns it into a Trace, in PyTorch's form (cpu_op,
// user_annotation, launch calls, device work with correlation and External id). Buffers are per thread;
// recording an event takes no lock after a thread's first.
//
// With a device's tracer, calls and device work come from there: devices then report neither, and ops tell
// the tracer their ids. Recorders that follow each other may share one tracer: each takes what was collected
// between its own start and finish.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hunch/base/probe.h"
#include "hunch/record/device_tracer.h"
#include "hunch/trace/trace.h"

namespace hunch::record {

class Recorder final : public base::Probe {
 public:
  // `tracer`, where there is one, must outlive the recorder.
  explicit Recorder(DeviceTracer* tracer = nullptr);
  ~Recorder() override;

  // With a tracer, has it collect and drops what it holds from before: call with the device idle and before
  // this probe is installed. Without one there is nothing to start. Error: environment.
  base::Status start();

  // Device properties that the Trace carries.
  void add_device(const trace::DeviceProperties& properties);
  void set_metadata(const std::string& key, const std::string& value);
  // A warning that the Trace carries: what this recording lacks, and why.
  void warn(std::string message);

  // Ends the recording: call after Device::synchronize and with this probe no longer installed. Spans still
  // open are closed at the last time seen. Launches without device work are kept and counted as a warning.
  // A tracer goes on collecting, for the next recorder or until it is stopped.
  trace::Trace finish();

  void begin_span(base::SpanKind kind, std::string_view name, std::string_view dims) override;
  void begin_op(std::string_view name, std::string_view dims, std::string_view types) override;
  void end_span() override;
  uint64_t launch_begin(std::string_view api, const base::WorkInfo& work) override;
  void launch_end(uint64_t correlation) override;
  void device_work(uint64_t correlation, const base::WorkInfo& work, int64_t stream, base::Ns start,
                   base::Ns end) override;
  void work_done(std::string_view api, const base::WorkInfo& work, int64_t stream, base::Ns start,
                 base::Ns end) override;
  void host_wait(std::string_view api, base::Ns start, base::Ns end) override;
  void memory(int64_t delta, int64_t in_use) override;
  bool traces_device() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hunch::record
