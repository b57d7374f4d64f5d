// The allocator's policy, with a source that counts: reuse, exact accounts, the bound on the cache, and what
// happens when memory runs out.
#include "hunch/tensor/caching_allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <set>

namespace hunch::tensor {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Memory of `capacity` bytes; what is released becomes free only when drained, as on a busy stream.
class CachingAllocatorTest : public ::testing::Test {
 protected:
  CachingAllocator make(int64_t total, std::size_t capacity) {
    left = capacity;
    CachingAllocator::Source source;
    source.allocate = [this](std::size_t bytes) -> void* {
      if (bytes > left) return nullptr;
      left -= bytes;
      ++allocations;
      return reinterpret_cast<void*>(next += bytes);  // never touched
    };
    source.release = [this](void*, std::size_t bytes) {
      ++releases;
      pending += bytes;
    };
    source.drain = [this] {
      ++drains;
      left += pending;
      pending = 0;
    };
    return CachingAllocator(source, total);
  }
  std::size_t left = 0, pending = 0, next = 4096;
  int allocations = 0, releases = 0, drains = 0;
};

TEST_F(CachingAllocatorTest, BlockSizes) {
  EXPECT_EQ(CachingAllocator::block_size(1), 64U);
  EXPECT_EQ(CachingAllocator::block_size(64), 64U);
  EXPECT_EQ(CachingAllocator::block_size(65), 128U);
  EXPECT_EQ(CachingAllocator::block_size(1 << 20), 1U << 20);
  for (std::size_t bytes = 1; bytes < 5'000'000; bytes += 997) {
    const std::size_t size = CachingAllocator::block_size(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_LE(size, bytes + std::max<std::size_t>(64, bytes / 8));
  }
}

TEST_F(CachingAllocatorTest, ReusesAtOnceAndCountsTheBytesAskedFor) {
  auto allocator = make(1024 * kMiB, 1 << 30);
  void* a = allocator.allocate(1000);
  EXPECT_EQ(allocator.stats().in_use_bytes, 1000);
  allocator.release(a, 1000);
  EXPECT_EQ(allocator.stats().in_use_bytes, 0);
  EXPECT_EQ(allocator.stats().peak_bytes, 1000);
  EXPECT_EQ(allocator.cached_bytes(), 1024);
  EXPECT_EQ(allocator.allocate(1001), a);  // the same class
  EXPECT_EQ(allocator.cached_bytes(), 0);
  EXPECT_NE(allocator.allocate(1000), a);
  EXPECT_EQ(allocations, 2);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak_bytes, 2001);
  EXPECT_EQ(allocator.allocate(0), nullptr);
  allocator.release(nullptr, 0);
  EXPECT_EQ(allocator.stats().in_use_bytes, 2001);
}

TEST_F(CachingAllocatorTest, CacheStaysWithinTwiceTheMostUsed) {
  auto allocator = make(4096 * kMiB, std::size_t{1} << 40);
  for (int64_t size = 40; size < 80; ++size)  // each size another class
    allocator.release(allocator.allocate(static_cast<std::size_t>(size * kMiB)),
                      static_cast<std::size_t>(size * kMiB));
  EXPECT_GT(releases, 0);
  EXPECT_LE(allocator.cached_bytes(), 2 * 80 * kMiB);
}

TEST_F(CachingAllocatorTest, EmptiesTheCacheBeforeItGivesUp) {
  auto allocator = make(1024 * kMiB, 100 << 10);
  void* a = allocator.allocate(60 << 10);
  allocator.release(a, 60 << 10);
  EXPECT_NE(allocator.allocate(90 << 10), nullptr);
  EXPECT_EQ(drains, 1);
  EXPECT_EQ(releases, 1);
  EXPECT_THROW(allocator.allocate(20 << 10), std::bad_alloc);
  EXPECT_THROW(allocator.allocate(~std::size_t{0}), std::bad_alloc);
  EXPECT_THROW(allocator.allocate(~std::size_t{0} / 2), std::bad_alloc);
  EXPECT_EQ(allocator.stats().in_use_bytes, 90 << 10);
}

}  // namespace
}  // namespace hunch::tensor
