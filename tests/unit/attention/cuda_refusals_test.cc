// What the fused backends refuse on a GPU, asked of a device that only says that it is one: reasons read
// shapes, dtypes, strides and the device's description, and no data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hunch/attention/backend.h"
#include "hunch/attention/tiles/cuda_call.h"
#include "hunch/attention/tiles/describe.h"

namespace hunch::attention {
namespace {

using tensor::DType;
using tensor::Tensor;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SaysItIsAGpu final : public tensor::Device {
 public:
  explicit SaysItIsAGpu(int major = 9) {
    info_.kind = tensor::DeviceKind::cuda;
    info_.name = "NVIDIA Test";
    info_.compute_major = major;
    info_.compute_minor = major == 7 ? 5 : 0;
  }
  const tensor::DeviceInfo& info() const override { return info_; }
  void* allocate(std::size_t bytes) override { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
  void release(void* memory, std::size_t) override { std::free(memory); }
  void upload(void*, const void*, std::size_t) override {}
  void download(void*, const void*, std::size_t) override {}
  void synchronize() override {}
  tensor::MemoryStats memory() const override { return {}; }
  void reset_peak() override {}
  int64_t available_bytes() const override { return int64_t{1} << 40; }
  void set_poison(bool) override {}

 private:
  tensor::DeviceInfo info_;
};

Call call_on(tensor::Device& device, DType dtype, int64_t head_dim, int64_t value_dim) {
  Call call;
  call.query = Tensor::empty(device, dtype, {2, 4, 10, head_dim});
  call.key = Tensor::empty(device, dtype, {2, 2, 12, head_dim});
  call.value = Tensor::empty(device, dtype, {2, 2, 12, value_dim});
  call.enable_gqa = true;
  return call;
}

std::vector<std::string> refusals(const char* backend, const Call& call) {
  return find_backend(backend)->refusals(call);
}

TEST(CudaRefusals, TakesWhatItShould) {
  SaysItIsAGpu device;
  for (const char* backend : {"flash", "efficient"})
    for (const DType dtype : {DType::f16, DType::bf16})
      EXPECT_THAT(refusals(backend, call_on(device, dtype, 3, 256)), IsEmpty()) << backend;
  EXPECT_THAT(refusals("efficient", call_on(device, DType::f32, 64, 64)), IsEmpty());
}

TEST(CudaRefusals, FlashHasNoF32) {
  SaysItIsAGpu device;
  EXPECT_THAT(refusals("flash", call_on(device, DType::f32, 64, 64)),
              ElementsAre("on a GPU it computes in bf16 and f16, and the inputs are f32"));
}

TEST(CudaRefusals, HeadDims) {
  SaysItIsAGpu device;
  for (const char* backend : {"flash", "efficient"}) {
    EXPECT_THAT(refusals(backend, call_on(device, DType::bf16, 257, 257)),
                ElementsAre("the query's head_dim is 257, above the limit of 256"));
    EXPECT_THAT(refusals(backend, call_on(device, DType::bf16, 64, 300)),
                ElementsAre("the value's head_dim is 300, above the limit of 256"));
  }
}

TEST(CudaRefusals, ElementsThatAreNotSideBySide) {
  SaysItIsAGpu device;
  Call call = call_on(device, DType::bf16, 64, 64);
  call.key = Tensor::empty(device, DType::bf16, {2, 2, 64, 12}).transpose(2, 3);
  for (const char* backend : {"flash", "efficient"})
    EXPECT_THAT(refusals(backend, call), ElementsAre("key's last stride is 12, not 1"));
}

TEST(CudaRefusals, AnOldGpu) {
  SaysItIsAGpu device(7);
  for (const char* backend : {"flash", "efficient", "cudnn"})
    EXPECT_THAT(refusals(backend, call_on(device, DType::bf16, 64, 64)),
                Contains("it needs a GPU of compute capability 8.0 or newer, and the NVIDIA Test has 7.5"));
}

TEST(CudaRefusals, CudnnAsksForMore) {
  SaysItIsAGpu device;
  Call call = call_on(device, DType::bf16, 64, 64);
  call.scale = -0.5;
  EXPECT_THAT(refusals("cudnn", call), Contains(HasSubstr("the scale is -0.5")));
  call = call_on(device, DType::bf16, 64, 64);
  call.query = Tensor::empty(device, DType::bf16, {2, 4, 10, 65}).slice(3, 1, 65);
  EXPECT_THAT(refusals("cudnn", call), Contains("query does not start on 16 bytes"));
  EXPECT_THAT(refusals("flash", call), IsEmpty());
}

TEST(CudaParams, AlignedWhereEveryRowStartsOn16Bytes) {
  SaysItIsAGpu device;
  const auto aligned = [](const Call& call) {
    const Output output = tiles::make_output(call);
    return tiles::cuda_params(tiles::describe(call, output)).aligned != 0;
  };
  EXPECT_TRUE(aligned(call_on(device, DType::bf16, 64, 8)));
  EXPECT_FALSE(aligned(call_on(device, DType::bf16, 64, 4)));
  EXPECT_TRUE(aligned(call_on(device, DType::f32, 4, 4)));
  EXPECT_FALSE(aligned(call_on(device, DType::f32, 3, 4)));
  Call call = call_on(device, DType::bf16, 64, 64);
  call.value = Tensor::empty(device, DType::bf16, {2, 2, 12, 68}).slice(3, 0, 64);
  EXPECT_FALSE(aligned(call));
  call.value = Tensor::empty(device, DType::bf16, {2, 2, 12, 80}).slice(3, 4, 68);
  EXPECT_FALSE(aligned(call));
}

TEST(CudaParams, BroadcastMasksHaveStrideZero) {
  SaysItIsAGpu device;
  Call call = call_on(device, DType::f16, 64, 64);
  call.mask = Tensor::empty(device, DType::boolean, {4, 1, 12});
  const Output output = tiles::make_output(call);
  const sm80::AttentionParams params = tiles::cuda_params(tiles::describe(call, output));
  EXPECT_EQ(params.mask_type, sm80::MaskType::boolean);
  EXPECT_EQ(params.mask_batch, 0);
  EXPECT_EQ(params.mask_head, 12);
  EXPECT_EQ(params.mask_row, 0);
  EXPECT_EQ(params.mask_column, 1);
  EXPECT_EQ(params.kv_heads, 2);
  EXPECT_EQ(params.kv_length, 12);
}

}  // namespace
}  // namespace hunch::attention
