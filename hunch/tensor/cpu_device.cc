// The CPU device: a queue, the stream thread that empties it, and a caching allocator whose blocks are
// freed through the same queue. Work launched while a Probe listens carries that probe with it, so it is
// reported to the one under which it was launched, and to none if there was none.
// The stream thread touches an item's probe only before it counts the item as done; so once synchronize
// has returned, a probe may go away.
#include "hunch/tensor/cpu_device.h"

#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "hunch/base/check.h"
#include "hunch/tensor/caching_allocator.h"
#include "hunch/tensor/convert.h"
#include "hunch/tensor/cpu_system.h"

namespace hunch::tensor {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::string_view api_of(base::WorkKind kind) {
  switch (kind) {
    case base::WorkKind::kernel:
      return "hunchLaunchKernel";
    case base::WorkKind::memcpy:
      return "hunchMemcpyAsync";
    case base::WorkKind::memset:
      return "hunchMemsetAsync";
  }
  HUNCH_CHECK(false, "no such kind of work");
}

// Large blocks ask for huge pages: a score matrix would otherwise fault once every 4 KiB on first use.
void* system_allocate(std::size_t bytes) {
  const bool large = bytes >= 2 * kHugePage;
  const std::size_t alignment = large ? kHugePage : 64;
  void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block != nullptr && large) madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

}  // namespace

struct CpuDevice::State {
  struct Item {
    base::WorkInfo work;
    Body body;
    base::Probe* probe = nullptr;
    uint64_t correlation = 0;
  };

  explicit State(int threads) : pool(threads) {}

  void enqueue(Item item) {
    {
      std::lock_guard lock(mutex);
      queue.push_back(std::move(item));
      ++enqueued;
    }
    wake.notify_one();
  }
  // Work of the device's own, such as freeing: in stream order, never reported.
  void enqueue_unrecorded(Body body) { enqueue({{}, std::move(body), nullptr, 0}); }

  void wait() {
    std::unique_lock lock(mutex);
    const uint64_t until = enqueued;
    idle.wait(lock, [&] { return completed >= until; });
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stopping || !queue.empty(); });
      if (queue.empty()) return;  // stopping, and all that was launched is done
      {
        const Item item = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        const base::Ns start = base::now_ns();
        item.body(pool);
        const base::Ns end = base::now_ns();
        if (item.probe != nullptr) item.probe->device_work(item.correlation, item.work, kStream, start, end);
      }
      lock.lock();
      ++completed;
      idle.notify_all();
    }
  }

  base::ThreadPool pool;
  DeviceInfo info;
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable idle;
  std::deque<Item> queue;
  uint64_t enqueued = 0;
  uint64_t completed = 0;
  bool stopping = false;
  std::atomic<bool> poison{false};
  std::unique_ptr<CachingAllocator> allocator;
  std::thread stream;
};

CpuDevice::CpuDevice(int threads) : state_(std::make_unique<State>(threads)) {
  State& state = *state_;
  state.info.kind = DeviceKind::cpu;
  state.info.name = cpu_model();
  state.info.multiprocessors = threads;
  state.info.memory_bytes = system_memory_bytes();
  state.info.features = simd_target();
  CachingAllocator::Source source;
  source.allocate = system_allocate;
  source.release = [&state](void* block, std::size_t) {
    state.enqueue_unrecorded([block](base::ThreadPool&) { std::free(block); });
  };
  source.drain = [&state] { state.wait(); };
  state.allocator = std::make_unique<CachingAllocator>(std::move(source), state.info.memory_bytes);
  state.stream = std::thread([&state] { state.run(); });
}

CpuDevice::~CpuDevice() {
  HUNCH_CHECK(memory().in_use_bytes == 0, "a buffer outlives its device");
  state_->allocator->empty_cache();
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_one();
  state_->stream.join();
}

void CpuDevice::launch(const base::WorkInfo& work, Body body) {
  base::Probe* probe = base::current_probe();
  if (probe == nullptr) {
    state_->enqueue({work, std::move(body), nullptr, 0});
    return;
  }
  const uint64_t correlation = probe->launch_begin(api_of(work.kind), work);
  state_->enqueue({work, std::move(body), probe, correlation});
  probe->launch_end(correlation);
}

const DeviceInfo& CpuDevice::info() const { return state_->info; }

void* CpuDevice::allocate(std::size_t bytes) {
  void* memory = state_->allocator->allocate(bytes);
  if (memory != nullptr && state_->poison.load(std::memory_order_relaxed))
    state_->enqueue_unrecorded([memory, bytes](base::ThreadPool&) { std::memset(memory, 0xFF, bytes); });
  return memory;
}

void CpuDevice::release(void* memory, std::size_t bytes) { state_->allocator->release(memory, bytes); }

void CpuDevice::upload(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  state_->wait();  // the block may be one that earlier work still uses
  std::memcpy(target, source, bytes);
}

void CpuDevice::download(void* target, const void* source, std::size_t bytes) {
  synchronize();
  if (bytes > 0) std::memcpy(target, source, bytes);
}

void CpuDevice::synchronize() {
  const base::Ns start = base::now_ns();
  state_->wait();
  if (base::Probe* probe = base::current_probe(); probe != nullptr)
    probe->host_wait("hunchStreamSynchronize", start, base::now_ns());
}

MemoryStats CpuDevice::memory() const { return state_->allocator->stats(); }
void CpuDevice::reset_peak() { state_->allocator->reset_peak(); }
int64_t CpuDevice::available_bytes() const {
  return system_available_bytes() + state_->allocator->cached_bytes();
}
void CpuDevice::empty_cache() { state_->allocator->empty_cache(); }
void CpuDevice::set_poison(bool on) { state_->poison.store(on, std::memory_order_relaxed); }
bool CpuDevice::poisons() const { return state_->poison.load(std::memory_order_relaxed); }
int CpuDevice::threads() const { return state_->pool.threads(); }

}  // namespace hunch::tensor
