#include "hunch/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "hunch/base/check.h"

namespace hunch::base {

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  const std::function<void(int64_t, int)>* body = nullptr;
  int64_t count = 0;
  uint64_t generation = 0;
  int running = 0;
  bool stopping = false;
  std::atomic<int64_t> next{0};
  std::vector<std::thread> workers;

  void drain(int worker) {
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed))
      (*body)(i, worker);
  }

  void work(int worker) {
    uint64_t seen = 0;
    while (true) {
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stopping || generation != seen; });
        if (stopping) return;
        seen = generation;
      }
      drain(worker);
      std::lock_guard lock(mutex);
      if (--running == 0) done.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  HUNCH_CHECK(threads >= 1);
  for (int i = 1; i < threads; ++i) state_->workers.emplace_back([this, i] { state_->work(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  for (auto& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(int64_t count, const std::function<void(int64_t, int)>& body) {
  if (count <= 0) return;
  if (state_->workers.empty() || count == 1) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  {
    std::lock_guard lock(state_->mutex);
    HUNCH_CHECK(state_->running == 0, "parallel_for inside parallel_for");
    state_->body = &body;
    state_->count = count;
    state_->next.store(0, std::memory_order_relaxed);
    state_->running = static_cast<int>(state_->workers.size());
    ++state_->generation;
  }
  state_->wake.notify_all();
  state_->drain(0);
  std::unique_lock lock(state_->mutex);
  state_->done.wait(lock, [&] { return state_->running == 0; });
}

void run_tasks(int threads, std::initializer_list<std::function<void()>> tasks) {
  const auto count = static_cast<int>(tasks.size());
  ThreadPool pool(std::clamp(threads, 1, std::max(1, count)));
  pool.parallel_for(count, [&](int64_t index, int) { tasks.begin()[index](); });
}

int ThreadPool::hardware_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace hunch::base
