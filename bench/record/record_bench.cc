// What recording costs the recorded program, in nanoseconds of host time: a span, a launch, a change of
// memory, and a launch on the CPU device with and without a Recorder. "clock" is one reading of the clock, of
// which a span and a launch need two: the floor under both.
//
// Each measurement fills a recording of a fixed number of events and drops it, as a run of some steps does,
// so that memory grows as in use. Read the differences between rows of one run, not between runs.
#include <benchmark/benchmark.h>

#include "hunch/record/recorder.h"
#include "hunch/tensor/cpu_device.h"

namespace {

using hunch::base::ScopedProbe;
using hunch::base::Span;
using hunch::base::SpanKind;
using hunch::base::WorkInfo;
using hunch::record::Recorder;

constexpr int kEvents = 10'000;  // in one recording

WorkInfo kernel() {
  WorkInfo work;
  work.name = "bench_kernel";
  work.grid = {16, 1, 1};
  work.block = {1, 1, 1};
  return work;
}

void per_event(benchmark::State& state) {
  state.counters["per event"] =
      benchmark::Counter(static_cast<double>(kEvents),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void clock(benchmark::State& state) {
  for (auto _ : state)
    for (int i = 0; i < kEvents; ++i) benchmark::DoNotOptimize(hunch::base::now_ns());
  per_event(state);
}
BENCHMARK(clock);

void span_without_recorder(benchmark::State& state) {
  for (auto _ : state)
    for (int i = 0; i < kEvents; ++i) const Span span(SpanKind::op, "hunch::matmul", "[[8,16,1024,64]]");
  per_event(state);
}
BENCHMARK(span_without_recorder);

void span(benchmark::State& state) {
  for (auto _ : state) {
    Recorder recorder;
    const ScopedProbe on(&recorder);
    for (int i = 0; i < kEvents; ++i)
      const Span one(SpanKind::op, "hunch::matmul", "[[8,16,1024,64],[8,16,64,1024]]");
  }
  per_event(state);
}
BENCHMARK(span);

void launch(benchmark::State& state) {
  const WorkInfo work = kernel();
  for (auto _ : state) {
    Recorder recorder;
    for (int i = 0; i < kEvents; ++i) recorder.launch_end(recorder.launch_begin("hunchLaunchKernel", work));
  }
  per_event(state);
}
BENCHMARK(launch);

void device_work(benchmark::State& state) {
  const WorkInfo work = kernel();
  for (auto _ : state) {
    Recorder recorder;
    for (int i = 0; i < kEvents; ++i) recorder.device_work(1, work, 7, i, i + 1);
  }
  per_event(state);
}
BENCHMARK(device_work);

void memory(benchmark::State& state) {
  for (auto _ : state) {
    Recorder recorder;
    for (int i = 0; i < kEvents; ++i) recorder.memory(64, 64);
  }
  per_event(state);
}
BENCHMARK(memory);

// The host's side of launching empty work on the CPU device, whose stream thread runs beside it.
void device_launches(benchmark::State& state, bool recorded) {
  hunch::tensor::CpuDevice device(1);
  const WorkInfo work = kernel();
  for (auto _ : state) {
    Recorder recorder;
    const ScopedProbe on(recorded ? &recorder : nullptr);
    for (int i = 0; i < kEvents; ++i) device.launch(work, [](hunch::base::ThreadPool&) {});
    state.PauseTiming();
    device.synchronize();
    state.ResumeTiming();
  }
  per_event(state);
}
BENCHMARK_CAPTURE(device_launches, bare, false);
BENCHMARK_CAPTURE(device_launches, recorded, true);

void finish(benchmark::State& state) {
  const WorkInfo work = kernel();
  for (auto _ : state) {
    state.PauseTiming();
    Recorder recorder;
    {
      const ScopedProbe on(&recorder);
      for (int i = 0; i < kEvents; ++i) {
        const Span one(SpanKind::op, "hunch::matmul", "[[8,16,1024,64],[8,16,64,1024]]");
        const uint64_t correlation = recorder.launch_begin("hunchLaunchKernel", work);
        recorder.launch_end(correlation);
        recorder.device_work(correlation, work, 7, i, i + 1);
      }
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(recorder.finish());
  }
  per_event(state);
}
BENCHMARK(finish);

}  // namespace

BENCHMARK_MAIN();
