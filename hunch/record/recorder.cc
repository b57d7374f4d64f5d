// The Probe's side of recording: each call finds its thread's buffer and appends to it.
//
// A thread finds its buffer through a thread-local cache that names the recording it belongs to; only the
// first event of a thread in a recording takes the lock. Recordings and correlations are numbered across
// the process, so that neither a stale cache nor device work of a launch under an earlier recorder can be
// taken for one of this recording.
#include "hunch/record/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "hunch/base/check.h"
#include "hunch/base/clock.h"
#include "hunch/record/build_trace.h"
#include "hunch/record/thread_buffer.h"

namespace hunch::record {
namespace {

uint64_t next_recording() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

uint64_t next_correlation() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

uint64_t this_thread() {
  static std::atomic<uint64_t> last{0};
  thread_local const uint64_t id = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return id;
}

struct Cache {
  uint64_t recording = 0;
  ThreadBuffer* buffer = nullptr;
};
thread_local Cache t_cache;

// Ids that ops give to a tracer: of no other op of this process, so that a tracer's leftovers are no one's.
uint64_t next_external() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

struct Recorder::State {
  explicit State(DeviceTracer* of_device) : tracer(of_device) {}

  DeviceTracer* const tracer;
  uint64_t recording = next_recording();
  std::mutex mutex;  // guards parts.buffers while recording
  RecordingParts parts;

  ThreadBuffer& buffer() {
    if (t_cache.recording == recording) [[likely]]
      return *t_cache.buffer;
    return first_event();
  }

  [[gnu::noinline]] ThreadBuffer& first_event() {
    const uint64_t thread = this_thread();
    const std::lock_guard lock(mutex);
    ThreadBuffer* found = nullptr;  // there already where a thread goes back and forth between recorders
    for (const auto& candidate : parts.buffers)
      if (candidate->thread == thread) found = candidate.get();
    if (found == nullptr) {
      auto made = std::make_unique<ThreadBuffer>();
      made->thread = thread;
      made->tid = gettid();
      char name[32] = {};
      if (pthread_getname_np(pthread_self(), name, sizeof name) == 0) made->name = name;
      found = made.get();
      parts.buffers.push_back(std::move(made));
    }
    t_cache = {recording, found};
    return *found;
  }
};

Recorder::Recorder(DeviceTracer* tracer) : state_(std::make_unique<State>(tracer)) {}
Recorder::~Recorder() = default;

base::Status Recorder::start() {
  if (state_->tracer == nullptr) return {};
  HUNCH_RETURN_IF_ERROR(state_->tracer->start());
  state_->tracer->take();
  state_->parts.started = base::now_ns();
  return {};
}

bool Recorder::traces_device() const { return state_->tracer != nullptr; }

void Recorder::add_device(const trace::DeviceProperties& properties) {
  state_->parts.devices.push_back(properties);
}

void Recorder::set_metadata(const std::string& key, const std::string& value) {
  state_->parts.metadata[key] = value;
}

void Recorder::warn(std::string message) { state_->parts.warnings.push_back(std::move(message)); }

trace::Trace Recorder::finish() {
  if (state_->tracer != nullptr) state_->parts.activity = state_->tracer->take();
  state_->recording = next_recording();  // no thread's cache points here any more
  return build_trace(std::exchange(state_->parts, RecordingParts{}));
}

void Recorder::begin_span(base::SpanKind kind, std::string_view name, std::string_view dims) {
  ThreadBuffer& buffer = state_->buffer();
  HostEvent event;
  event.kind = kind == base::SpanKind::op           ? HostKind::op
               : kind == base::SpanKind::annotation ? HostKind::annotation
                                                    : HostKind::step;
  event.name = buffer.text.keep(name);
  event.dims = buffer.text.keep(dims);
  const bool tells = state_->tracer != nullptr && kind == base::SpanKind::op;
  if (tells) event.external = next_external();
  event.start = base::now_ns();
  buffer.open.push_back(buffer.begin(event));
  if (tells) state_->tracer->push(event.external);
}

void Recorder::begin_op(std::string_view name, std::string_view dims, std::string_view types) {
  begin_span(base::SpanKind::op, name, dims);
  ThreadBuffer& buffer = state_->buffer();
  buffer.host[buffer.open.back()].types = buffer.text.keep(types);
}

void Recorder::end_span() {
  const Ns now = base::now_ns();
  ThreadBuffer& buffer = state_->buffer();
  HUNCH_CHECK(!buffer.open.empty(), "end_span without a span open on this thread");
  HostEvent& event = buffer.host[buffer.open.back()];
  HUNCH_CHECK(event.kind != HostKind::launch, "end_span inside of a launch call");
  if (event.external != 0) state_->tracer->pop();
  event.end = now;
  buffer.open.pop_back();
}

uint64_t Recorder::launch_begin(std::string_view api, const base::WorkInfo&) {
  ThreadBuffer& buffer = state_->buffer();
  HostEvent event;
  event.kind = HostKind::launch;
  event.name = buffer.text.keep(api);
  event.correlation = next_correlation();
  event.start = base::now_ns();
  buffer.open.push_back(buffer.begin(event));
  return event.correlation;
}

void Recorder::launch_end(uint64_t correlation) {
  const Ns now = base::now_ns();
  ThreadBuffer& buffer = state_->buffer();
  HUNCH_CHECK(!buffer.open.empty(), "launch_end without a launch open on this thread");
  HostEvent& event = buffer.host[buffer.open.back()];
  HUNCH_CHECK(event.kind == HostKind::launch && event.correlation == correlation,
              "launch_end of another call than the innermost one");
  event.end = now;
  buffer.open.pop_back();
}

void Recorder::device_work(uint64_t correlation, const base::WorkInfo& work, int64_t stream, base::Ns start,
                           base::Ns end) {
  state_->buffer().device.add({correlation, work, stream, start, end});
}

void Recorder::work_done(std::string_view api, const base::WorkInfo& work, int64_t stream, base::Ns start,
                         base::Ns end) {
  ThreadBuffer& buffer = state_->buffer();
  HostEvent event;
  event.kind = HostKind::launch;
  event.name = buffer.text.keep(api);
  event.correlation = next_correlation();
  event.start = start;
  event.end = end;
  buffer.begin(event);
  buffer.device.add({event.correlation, work, stream, start, end});
}

void Recorder::host_wait(std::string_view api, base::Ns start, base::Ns end) {
  ThreadBuffer& buffer = state_->buffer();
  HostEvent event;
  event.kind = HostKind::wait;
  event.name = buffer.text.keep(api);
  event.correlation = next_correlation();
  event.start = start;
  event.end = end;
  buffer.begin(event);
}

void Recorder::memory(int64_t delta, int64_t in_use) {
  state_->buffer().memory.add({base::now_ns(), delta, in_use});
}

}  // namespace hunch::record
