// A stream-ordered caching allocator, the policy apart from the memory it manages. A released block goes to
// a free list of its size class and may be handed out again at once: on an in-order stream, work launched
// later cannot overtake the work that still uses it. What is counted is what the host asked for, byte for
// byte, so `in_use` and its peak depend on the program alone. Safe to call from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "hunch/tensor/device.h"

namespace hunch::tensor {

class CachingAllocator {
 public:
  // Where blocks come from. `release` must wait until the work launched so far is done with the block, and
  // return without waiting itself; `drain` returns when all releases so far have happened.
  struct Source {
    std::function<void*(std::size_t bytes)> allocate;  // null where there is no memory left
    std::function<void(void* block, std::size_t bytes)> release;
    std::function<void()> drain;
  };

  // `total_bytes` bounds what the cache may hold on to: half of it.
  CachingAllocator(Source source, int64_t total_bytes);

  // Null for 0 bytes. Throws std::bad_alloc when the source has nothing even after the cache is emptied.
  void* allocate(std::size_t bytes);
  void release(void* memory, std::size_t bytes);
  void empty_cache();

  MemoryStats stats() const;
  void reset_peak();
  int64_t cached_bytes() const;

  // The size of the block that serves `bytes`: rounded up by at most an eighth, or to 64 bytes.
  static std::size_t block_size(std::size_t bytes);

 private:
  struct Cached {
    void* block;
    uint64_t released;  // when, in releases: the oldest goes first
  };
  void evict_oldest();
  void account(int64_t delta);

  const Source source_;
  const int64_t total_bytes_;
  mutable std::mutex mutex_;
  std::unordered_map<std::size_t, std::deque<Cached>> free_;  // by block size, oldest in front
  MemoryStats stats_;
  int64_t held_bytes_ = 0;    // in blocks, used or cached
  int64_t cached_bytes_ = 0;  // in blocks that wait for reuse
  int64_t most_used_bytes_ = 0;
  uint64_t releases_ = 0;
};

}  // namespace hunch::tensor
