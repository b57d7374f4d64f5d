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

}  // namespace

struct Recorder::State {
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

Recorder::Recorder() : state_(std::make_unique<State>()) {}
Recorder::~Recorder() = default;

void Recorder::add_device(const trace::DeviceProperties& properties) {
  state_->parts.devices.push_back(properties);
}

void Recorder::set_metadata(const std::string& key, const std::string& value) {
  state_->parts.metadata[key] = value;
}

trace::Trace Recorder::finish() {
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
  event.start = base::now_ns();
  buffer.open.push_back(buffer.begin(event));
}

void Recorder::end_span() {
  const Ns now = base::now_ns();
  ThreadBuffer& buffer = state_->buffer();
  HUNCH_CHECK(!buffer.open.empty(), "end_span without a span open on this thread");
  HostEvent& event = buffer.host[buffer.open.back()];
  HUNCH_CHECK(event.kind != HostKind::launch, "end_span inside of a launch call");
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
