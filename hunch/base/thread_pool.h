// The workers of the CPU device: a fixed number of threads that share the tiles of one kernel at a time.
// It is part of the device rather than a general scheduler: the thread count is the device's width
// (`--threads`), each worker has a stable index for scratch memory, and it is clean under ThreadSanitizer.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>

namespace hunch::base {

class ThreadPool {
 public:
  // `threads` >= 1 workers, the calling thread of parallel_for included.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Runs body(index, worker) once for each index in [0, count), worker in [0, threads()), and returns when
  // all are done. Indices are handed out one by one in rising order: make each worth some microseconds.
  // One call at a time; body must not call parallel_for of the same pool.
  void parallel_for(int64_t count, const std::function<void(int64_t index, int worker)>& body);

  // How many threads the machine grants this process (its CPU affinity).
  static int hardware_threads();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs each of `tasks` once, in their order on one thread or side by side on several, and returns when all
// are done.
void run_tasks(int threads, std::initializer_list<std::function<void()>> tasks);

}  // namespace hunch::base
