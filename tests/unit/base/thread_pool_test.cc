// The pool: each index once, workers within bounds and one at a time, any number of rounds and threads.
#include "hunch/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hunch::base {
namespace {

TEST(ThreadPool, EachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<int> seen(static_cast<std::size_t>(count));  // plain: the pool orders writes and reads
      std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(threads));
      pool.parallel_for(count, [&](int64_t index, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        EXPECT_FALSE(busy[static_cast<std::size_t>(worker)].exchange(true));
        ++seen[static_cast<std::size_t>(index)];
        busy[static_cast<std::size_t>(worker)] = false;
      });
      for (const int times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, TasksRunOnceEach) {
  for (const int threads : {1, 2, 8}) {
    int a = 0, b = 0, c = 0;
    run_tasks(threads, {[&] { ++a; }, [&] { b += 2; }, [&] { c += 3; }});
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 2);
    EXPECT_EQ(c, 3);
  }
  run_tasks(3, {});
  std::vector<int> order;
  run_tasks(1, {[&] { order.push_back(1); }, [&] { order.push_back(2); }});
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(ThreadPool, ManyRoundsKeepTheirResults) {
  ThreadPool pool(4);
  std::vector<int64_t> parts(16);
  int64_t sum = 0;
  for (int round = 0; round < 500; ++round) {
    pool.parallel_for(16,
                      [&](int64_t index, int) { parts[static_cast<std::size_t>(index)] = index * round; });
    for (const int64_t part : parts) sum += part;
  }
  EXPECT_EQ(sum, int64_t{120} * 499 * 500 / 2);
}

TEST(ThreadPool, MayBeUsedFromOneThreadAfterAnother) {
  ThreadPool pool(2);
  std::atomic<int> ran{0};
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { pool.parallel_for(5, [&](int64_t, int) { ++ran; }); }).join();
  }
  EXPECT_EQ(ran, 15);
}

TEST(ThreadPool, NegativeCountIsNone) {
  ThreadPool pool(2);
  pool.parallel_for(-1, [](int64_t, int) { FAIL(); });
}

TEST(ThreadPool, Hardware) { EXPECT_GE(ThreadPool::hardware_threads(), 1); }

}  // namespace
}  // namespace hunch::base
