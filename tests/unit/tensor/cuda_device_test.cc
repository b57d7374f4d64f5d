// The door to CUDA in every build, and the GPU as a device where there is one.
#include "hunch/tensor/cuda.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "hunch/tensor/tensor.h"
#if HUNCH_HAS_CUDA
#include "hunch/tensor/cuda_device.h"
#endif

namespace hunch::tensor {
namespace {

TEST(cuda, says_what_is_missing_or_opens) {
  const CudaStatus status = cuda_status();
  EXPECT_EQ(status.built, HUNCH_HAS_CUDA == 1);
  const auto device = open_cuda(0);
  if (status.missing.empty()) {
    ASSERT_TRUE(device.has_value());
    EXPECT_EQ((*device)->info().kind, DeviceKind::cuda);
    EXPECT_FALSE(status.devices.empty());
    return;
  }
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, base::ErrorCode::environment);
  EXPECT_EQ(device.error().message, status.missing);
  EXPECT_FALSE(device.error().remedy.empty());
}

TEST(cuda, refuses_an_index_that_is_not_there) {
  const CudaStatus status = cuda_status();
  const auto device = open_cuda(4096);
  ASSERT_FALSE(device.has_value());
  if (!status.missing.empty()) GTEST_SKIP() << status.missing;
  EXPECT_NE(device.error().message.find("no CUDA device 4096"), std::string::npos) << device.error().message;
}

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_cuda();
    if (!opened) GTEST_SKIP() << base::describe(opened.error());
    device_ = std::move(*opened);
  }
  std::unique_ptr<Device> device_;
};

TEST_F(CudaDeviceTest, carries_bytes_both_ways) {
  std::vector<float> values(100'003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.5F;
  const auto tensor =
      Tensor::from_floats(*device_, DType::f32, {static_cast<int64_t>(values.size())}, values);
  EXPECT_EQ(tensor.to_floats(), values);
}

TEST_F(CudaDeviceTest, reads_strided_views) {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const auto tensor = Tensor::from_floats(*device_, DType::bf16, {2, 3}, values);
  EXPECT_EQ(tensor.transpose(0, 1).to_floats(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST_F(CudaDeviceTest, accounts_what_is_asked_for) {
  const int64_t before = device_->memory().in_use_bytes;
  device_->reset_peak();
  {
    const Buffer a(*device_, 1000);
    const Buffer b(*device_, 3000);
    EXPECT_EQ(device_->memory().in_use_bytes, before + 4000);
  }
  EXPECT_EQ(device_->memory().in_use_bytes, before);
  EXPECT_EQ(device_->memory().peak_bytes, before + 4000);
}

TEST_F(CudaDeviceTest, poisons_on_request) {
  device_->set_poison(true);
  const Buffer buffer(*device_, 257);
  device_->set_poison(false);
  std::vector<unsigned char> bytes(257, 0);
  device_->download(bytes.data(), buffer.data(), bytes.size());
  for (const unsigned char byte : bytes) ASSERT_EQ(byte, 0xFF);
}

TEST_F(CudaDeviceTest, throws_when_memory_ends) {
  EXPECT_THROW(Buffer(*device_, std::size_t{1} << 50), std::bad_alloc);
  const Buffer after(*device_, 1024);  // and goes on
  EXPECT_NE(after.data(), nullptr);
}

#if HUNCH_HAS_CUDA
// Without a tracer each launch is one piece of device work, with the times of its events.
class Listener final : public base::Probe {
 public:
  void begin_span(base::SpanKind, std::string_view, std::string_view) override {}
  void end_span() override {}
  uint64_t launch_begin(std::string_view api, const base::WorkInfo&) override {
    apis.emplace_back(api);
    return apis.size();
  }
  void launch_end(uint64_t) override {}
  void device_work(uint64_t correlation, const base::WorkInfo& work, int64_t, base::Ns start,
                   base::Ns end) override {
    correlations.push_back(correlation);
    names.emplace_back(work.name);
    starts.push_back(start);
    ends.push_back(end);
  }
  void host_wait(std::string_view, base::Ns, base::Ns) override { ++waits; }
  void memory(int64_t, int64_t) override {}

  std::vector<std::string> apis, names;
  std::vector<uint64_t> correlations;
  std::vector<base::Ns> starts, ends;
  int waits = 0;
};

TEST_F(CudaDeviceTest, times_by_events_where_no_tracer_listens) {
  CudaDevice& cuda = *device_->as_cuda();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Buffer buffer(*device_, kBytes);
  Listener listener;
  const base::Ns before = base::now_ns();
  {
    const base::ScopedProbe probe(&listener);
    for (int i = 0; i < 3; ++i) {
      base::WorkInfo work;
      work.kind = base::WorkKind::memset;
      work.name = "Memset (Device)";
      bool called = false;
      cuda.launch(work, [&](void* stream) {
        called = stream == cuda.stream();
        return 0;  // nothing enqueued: the two events follow one another
      });
      EXPECT_TRUE(called);
    }
    device_->synchronize();
  }
  const base::Ns after = base::now_ns();
  EXPECT_EQ(listener.apis, (std::vector<std::string>(3, "cudaMemsetAsync")));
  EXPECT_EQ(listener.correlations, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(listener.waits, 1);
  constexpr base::Ns kSlack = 1'000'000;
  for (std::size_t i = 0; i < listener.starts.size(); ++i) {
    EXPECT_LE(listener.starts[i], listener.ends[i]);
    EXPECT_GE(listener.starts[i], before - kSlack);
    EXPECT_LE(listener.ends[i], after + kSlack);
  }
}
#endif

}  // namespace
}  // namespace hunch::tensor
