// The free lists and their bound. Blocks are reused within a size class only, newest first since that one
// is likelier in a cache of the CPU. The classes are an eighth apart, so that sizes which vary a little
// still meet; the cache as a whole may hold as much again as the program ever had in use.
#include "hunch/tensor/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include "hunch/base/check.h"
#include "hunch/base/probe.h"

namespace hunch::tensor {
namespace {

constexpr int64_t kAlwaysCache = int64_t{64} << 20;  // below this much nothing is given back

}  // namespace

CachingAllocator::CachingAllocator(Source source, int64_t total_bytes)
    : source_(std::move(source)), total_bytes_(total_bytes) {}

std::size_t CachingAllocator::block_size(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 8);
  if (bytes > std::numeric_limits<std::size_t>::max() - step) return bytes;  // no source has that much
  return (bytes + step - 1) / step * step;
}

void* CachingAllocator::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t size = block_size(bytes);
  std::lock_guard lock(mutex_);
  if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
    void* block = found->second.back().block;
    found->second.pop_back();
    cached_bytes_ -= static_cast<int64_t>(size);
    account(static_cast<int64_t>(bytes));
    return block;
  }
  if (size > static_cast<std::size_t>(std::numeric_limits<int64_t>::max() / 2)) throw std::bad_alloc();
  const auto wanted = static_cast<int64_t>(size);
  const int64_t used = held_bytes_ - cached_bytes_ + wanted;
  const int64_t most = std::max(most_used_bytes_, used);
  const int64_t bound = std::max({std::min(2 * most, total_bytes_ / 2), used, kAlwaysCache});
  while (cached_bytes_ > 0 && held_bytes_ + wanted > bound) evict_oldest();
  void* block = source_.allocate(size);
  if (block == nullptr) {
    while (cached_bytes_ > 0) evict_oldest();
    source_.drain();
    block = source_.allocate(size);
    if (block == nullptr) throw std::bad_alloc();
  }
  held_bytes_ += wanted;
  most_used_bytes_ = most;
  account(static_cast<int64_t>(bytes));
  return block;
}

void CachingAllocator::release(void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  const std::size_t size = block_size(bytes);
  std::lock_guard lock(mutex_);
  free_[size].push_back({memory, releases_++});
  cached_bytes_ += static_cast<int64_t>(size);
  account(-static_cast<int64_t>(bytes));
}

void CachingAllocator::empty_cache() {
  std::lock_guard lock(mutex_);
  while (cached_bytes_ > 0) evict_oldest();
}

void CachingAllocator::evict_oldest() {
  auto oldest = free_.end();
  for (auto list = free_.begin(); list != free_.end(); ++list)
    if (!list->second.empty() &&
        (oldest == free_.end() || list->second.front().released < oldest->second.front().released))
      oldest = list;
  HUNCH_CHECK(oldest != free_.end(), "cached bytes without a cached block");
  const std::size_t size = oldest->first;
  source_.release(oldest->second.front().block, size);
  oldest->second.pop_front();
  if (oldest->second.empty()) free_.erase(oldest);
  held_bytes_ -= static_cast<int64_t>(size);
  cached_bytes_ -= static_cast<int64_t>(size);
}

// Under the lock: a listener sees the levels in the order in which they held.
void CachingAllocator::account(int64_t delta) {
  stats_.in_use_bytes += delta;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.in_use_bytes);
  if (base::Probe* probe = base::current_probe(); probe != nullptr) probe->memory(delta, stats_.in_use_bytes);
}

MemoryStats CachingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.in_use_bytes;
}

int64_t CachingAllocator::cached_bytes() const {
  std::lock_guard lock(mutex_);
  return cached_bytes_;
}

}  // namespace hunch::tensor
