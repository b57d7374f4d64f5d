// The CPU device: order on its stream, which probe hears what, accounts, stream-ordered reuse, poison, and
// several host threads at once.
#include "hunch/tensor/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <new>
#include <thread>

#include "hunch/tensor/tensor.h"

namespace hunch::tensor {
namespace {

using ::testing::ElementsAre;

class Counter final : public base::Probe {
 public:
  void begin_span(base::SpanKind, std::string_view, std::string_view) override {}
  void end_span() override {}
  uint64_t launch_begin(std::string_view api, const base::WorkInfo&) override {
    apis.emplace_back(api);
    return ++launched;
  }
  void launch_end(uint64_t) override { ++ended; }
  void device_work(uint64_t correlation, const base::WorkInfo& work, int64_t stream, base::Ns start,
                   base::Ns end) override {
    done.push_back(correlation);
    names.emplace_back(work.name);
    ordered = ordered && start >= last_end && end >= start && stream == CpuDevice::kStream;
    last_end = end;
  }
  void host_wait(std::string_view api, base::Ns start, base::Ns end) override {
    waits.emplace_back(api);
    ordered = ordered && end >= start;
  }
  void memory(int64_t delta, int64_t in_use) override { levels.emplace_back(delta, in_use); }

  uint64_t launched = 0, ended = 0;
  std::vector<uint64_t> done;
  std::vector<std::string> apis, names, waits;
  std::vector<std::pair<int64_t, int64_t>> levels;
  base::Ns last_end = 0;
  bool ordered = true;
};

base::WorkInfo work(std::string_view name, base::WorkKind kind = base::WorkKind::kernel) {
  base::WorkInfo info;
  info.name = name;
  info.kind = kind;
  return info;
}

TEST(CpuDevice, SaysWhatItIs) {
  CpuDevice device(3);
  EXPECT_EQ(device.info().kind, DeviceKind::cpu);
  EXPECT_FALSE(device.info().name.empty());
  EXPECT_FALSE(device.info().features.empty());
  EXPECT_EQ(device.info().multiprocessors, 3);
  EXPECT_EQ(device.threads(), 3);
  EXPECT_GT(device.info().memory_bytes, 0);
  EXPECT_GT(device.available_bytes(), 0);
  EXPECT_EQ(device.as_cpu(), &device);
}

TEST(CpuDevice, RunsInOrderWhileTheHostGoesOn) {
  CpuDevice device(2);
  std::promise<void> gate;
  auto open = gate.get_future().share();
  std::vector<int> order;
  device.launch(work("first"), [&order, open](base::ThreadPool&) {
    open.wait();
    order.push_back(1);
  });
  device.launch(work("second"), [&order](base::ThreadPool&) { order.push_back(2); });
  gate.set_value();  // reached only because launch does not wait
  device.synchronize();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(CpuDevice, ReportsEachLaunchAndItsWork) {
  CpuDevice device(2);
  Counter counter;
  {
    const base::ScopedProbe probe(&counter);
    device.launch(work("a"), [](base::ThreadPool&) {});
    device.launch(work("b", base::WorkKind::memcpy), [](base::ThreadPool&) {});
    device.launch(work("c", base::WorkKind::memset), [](base::ThreadPool&) {});
    device.synchronize();
  }
  EXPECT_THAT(counter.apis, ElementsAre("hunchLaunchKernel", "hunchMemcpyAsync", "hunchMemsetAsync"));
  EXPECT_EQ(counter.ended, 3U);
  EXPECT_THAT(counter.done, ElementsAre(1, 2, 3));
  EXPECT_THAT(counter.names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(counter.waits, ElementsAre("hunchStreamSynchronize"));
  EXPECT_TRUE(counter.ordered);
}

TEST(CpuDevice, WorkBelongsToTheProbeOfItsLaunch) {
  CpuDevice device(1);
  std::promise<void> gate;
  auto open = gate.get_future().share();
  Counter first, second;
  device.launch(work("before"), [open](base::ThreadPool&) { open.wait(); });
  {
    const base::ScopedProbe probe(&first);
    device.launch(work("first"), [](base::ThreadPool&) {});
  }
  {
    const base::ScopedProbe probe(&second);
    device.launch(work("second"), [](base::ThreadPool&) {});
    gate.set_value();  // everything runs while `second` listens
    device.synchronize();
  }
  EXPECT_THAT(first.names, ElementsAre("first"));
  EXPECT_THAT(second.names, ElementsAre("second"));
}

TEST(CpuDevice, MemoryFollowsTheHostAndIsReported) {
  CpuDevice device(1);
  std::promise<void> gate;
  auto open = gate.get_future().share();
  device.launch(work("busy"), [open](base::ThreadPool&) { open.wait(); });
  Counter counter;
  {
    const base::ScopedProbe probe(&counter);
    const auto a = std::make_unique<Buffer>(device, 100);
    { const Buffer b(device, 50); }
    const Buffer none(device, 0);
    EXPECT_EQ(device.memory().in_use_bytes, 100);
    EXPECT_EQ(device.memory().peak_bytes, 150);
  }
  EXPECT_EQ(device.memory().in_use_bytes, 0);
  EXPECT_THAT(counter.levels,
              ElementsAre(std::pair(100, 100), std::pair(50, 150), std::pair(-50, 100), std::pair(-100, 0)));
  device.reset_peak();
  EXPECT_EQ(device.memory().peak_bytes, 0);
  gate.set_value();
}

TEST(CpuDevice, ReleasedMemoryIsReusedBeforeItsWorkIsDone) {
  CpuDevice device(1);
  std::promise<void> gate;
  auto open = gate.get_future().share();
  float seen = 0;
  void* first = device.allocate(4);
  device.launch(work("writes late"), [first, open, &seen](base::ThreadPool&) {
    open.wait();
    *static_cast<float*>(first) = 1.0F;
    seen = *static_cast<float*>(first);
  });
  device.release(first, 4);
  void* second = device.allocate(4);
  EXPECT_EQ(second, first);
  device.launch(work("overwrites"), [second](base::ThreadPool&) { *static_cast<float*>(second) = 2.0F; });
  gate.set_value();
  float value = 0;
  device.download(&value, second, 4);
  EXPECT_EQ(seen, 1.0F);
  EXPECT_EQ(value, 2.0F);
  // An upload waits for the work that still uses the block.
  const float given = 3.0F;
  device.upload(second, &given, 4);
  device.download(&value, second, 4);
  EXPECT_EQ(value, 3.0F);
  device.release(second, 4);
}

TEST(CpuDevice, AlignsAndPoisons) {
  CpuDevice device(1);
  device.set_poison(true);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{5} << 20}) {
    auto* memory = static_cast<unsigned char*>(device.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    device.synchronize();
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory[i], 0xFF);
    std::memset(memory, 0, bytes);
    device.release(memory, bytes);
  }
  Counter counter;
  {
    const base::ScopedProbe probe(&counter);
    device.release(device.allocate(64), 64);
    device.synchronize();
  }
  EXPECT_EQ(counter.launched, 0U);  // poison is not work of the program
  EXPECT_TRUE(counter.done.empty());
}

TEST(CpuDevice, ThrowsWhereThereIsNoMemory) {
  CpuDevice device(1);
  EXPECT_THROW(device.allocate(~std::size_t{0} / 4), std::bad_alloc);
  EXPECT_EQ(device.memory().in_use_bytes, 0);
}

TEST(CpuDevice, ManyHostThreads) {
  CpuDevice device(2);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 4; ++host)
    hosts.emplace_back([&device, &sum] {
      for (int i = 0; i < 200; ++i) {
        const Buffer buffer(device, static_cast<std::size_t>(64 + i));
        device.launch(work("count"), [data = buffer.data(), &sum](base::ThreadPool& pool) {
          std::memset(data, 0, 64);
          pool.parallel_for(3, [&sum](int64_t index, int) { sum += index; });
        });
        if (i % 50 == 0) device.synchronize();
      }
    });
  for (auto& host : hosts) host.join();
  device.synchronize();
  EXPECT_EQ(sum, 4 * 200 * 3);
  EXPECT_EQ(device.memory().in_use_bytes, 0);
}

TEST(CpuDevice, DrainsOnDestruction) {
  std::atomic<int> ran{0};
  {
    CpuDevice device(1);
    for (int i = 0; i < 50; ++i) device.launch(work("count"), [&ran](base::ThreadPool&) { ++ran; });
  }
  EXPECT_EQ(ran, 50);
}

TEST(CpuDeviceDeathTest, BufferOutlivesDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        CpuDevice device(1);
        device.allocate(8);
      },
      "outlives");
}

}  // namespace
}  // namespace hunch::tensor
