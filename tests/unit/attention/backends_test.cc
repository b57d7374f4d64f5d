// The table of backends, what each refuses and in which words, and the semantics that a reader would check by
// hand: where causal attention looks, what an empty row gives, what scale and masks do in which order.
#include "hunch/attention/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hunch/attention/dispatch.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::attention {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr float kInf = std::numeric_limits<float>::infinity();

// A CPU that claims to have little memory left.
class SmallDevice final : public tensor::Device {
 public:
  const tensor::DeviceInfo& info() const override { return device_.info(); }
  void* allocate(std::size_t bytes) override { return device_.allocate(bytes); }
  void release(void* memory, std::size_t bytes) override { device_.release(memory, bytes); }
  void upload(void* target, const void* source, std::size_t bytes) override {
    device_.upload(target, source, bytes);
  }
  void download(void* target, const void* source, std::size_t bytes) override {
    device_.download(target, source, bytes);
  }
  void synchronize() override { device_.synchronize(); }
  tensor::MemoryStats memory() const override { return device_.memory(); }
  void reset_peak() override { device_.reset_peak(); }
  int64_t available_bytes() const override { return available; }
  void set_poison(bool on) override { device_.set_poison(on); }
  tensor::CpuDevice* as_cpu() override { return &device_; }
  int64_t available = int64_t{20} << 30;

 private:
  tensor::CpuDevice device_{1};
};

class Backends : public ::testing::Test {
 protected:
  Tensor make(const Shape& shape, const std::vector<float>& values, DType dtype = DType::f32) {
    return Tensor::from_floats(device_, dtype, shape, values);
  }
  // Two queries of one head over three keys; the values are one-hot, so the output is the weights.
  Call small() {
    Call call;
    call.query = make({1, 1, 2, 1}, {1, 2});
    call.key = make({1, 1, 3, 1}, {0, 1, 2});
    call.value = make({1, 1, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
    call.scale = 1.0;
    return call;
  }
  std::vector<float> run(const Backend& backend, const Call& call) {
    EXPECT_THAT(backend.refusals(call), IsEmpty()) << backend.name();
    return run_backend(backend, backend.prepare(call)).value().out.to_floats();
  }
  // Backends that compute here.
  static std::vector<const Backend*> computing() {
    std::vector<const Backend*> those;
    for (const Backend* backend : backends())
      if (backend->name() != "cudnn") those.push_back(backend);
    return those;
  }
  void expect_weights(const Call& call, const std::vector<float>& weights) {
    for (const Backend* backend : computing())
      EXPECT_THAT(run(*backend, call), Pointwise(FloatNear(1e-5F), weights)) << backend->name();
  }
  tensor::CpuDevice device_{2};
};

std::vector<float> softmax(std::vector<float> scores) {
  float total = 0;
  for (auto& score : scores) total += score = std::exp(score);
  for (auto& score : scores) score /= total;
  return scores;
}

std::vector<float> operator+(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Backends, TableIsInTheOrderOfTables) {
  std::vector<std::string> names;
  for (const Backend* backend : backends()) {
    names.emplace_back(backend->name());
    EXPECT_NE(backend->summary(), "");
    EXPECT_EQ(find_backend(backend->name()), backend);
    EXPECT_EQ(backend->by_hand(), backend->name().substr(0, 5) == "naive");
  }
  EXPECT_THAT(names, ElementsAre("naive", "naive_inplace", "math", "efficient", "flash", "cudnn"));
  EXPECT_EQ(find_backend("Flash"), nullptr);
}

TEST_F(Backends, NoMask) { expect_weights(small(), softmax({0, 1, 2}) + softmax({0, 2, 4})); }

TEST_F(Backends, CausalIsTopLeft) {
  Call call = small();
  call.is_causal = true;
  expect_weights(call, std::vector<float>{1, 0, 0} + softmax({0, 2}) + std::vector<float>{0});
}

TEST_F(Backends, BooleanKeepsWhereTrueAndFloatAdds) {
  Call call = small();
  call.mask = make({2, 3}, {1, 0, 1, 0, 1, 0}, DType::boolean);
  const auto first = softmax({0, 2});
  expect_weights(call, {first[0], 0, first[1], 0, 1, 0});
  call.mask = make({2, 3}, {1, 2, 3, -kInf, 0.5F, -1});
  const auto second = softmax({2.5F, 3});
  expect_weights(call, softmax({1, 3, 5}) + std::vector<float>{0, second[0], second[1]});
}

TEST_F(Backends, MaskingComesAfterANegativeScale) {
  Call call = small();
  call.scale = -1.0;
  call.mask = make({1, 3}, {1, 1, 0}, DType::boolean);
  const std::vector<float> zero = {0};
  expect_weights(call, softmax({0, -1}) + zero + softmax({0, -2}) + zero);
}

TEST_F(Backends, ScaleZeroGivesTheMeanOfWhatIsSeen) {
  Call call = small();
  call.scale = 0.0;
  call.is_causal = true;
  expect_weights(call, {1, 0, 0, 0.5F, 0.5F, 0});
}

TEST_F(Backends, AFiniteMinimumIsNotInfinity) {
  Call call = small();
  const float lowest = std::numeric_limits<float>::lowest();
  call.mask = make({1, 3}, {lowest, lowest, lowest});
  const float third = 1.0F / 3;
  expect_weights(call, {third, third, third, third, third, third});
}

TEST_F(Backends, AFullyMaskedRowIsZeroOrByHandNaN) {
  for (const bool boolean : {true, false}) {
    Call call = small();
    call.mask = boolean ? make({2, 3}, {1, 1, 1, 0, 0, 0}, DType::boolean)
                        : make({2, 3}, {0, 0, 0, -kInf, -kInf, -kInf});
    for (const Backend* backend : computing()) {
      const auto out = run(*backend, call);
      for (std::size_t i = 0; i < 6; ++i) {
        if (i < 3) {
          EXPECT_GT(out[i], 0.0F);
        } else if (backend->by_hand()) {
          EXPECT_TRUE(std::isnan(out[i])) << backend->name();
        } else {
          EXPECT_EQ(out[i], 0.0F) << backend->name();
        }
      }
    }
  }
}

TEST_F(Backends, EmptyBatchLengthAndKeys) {
  device_.set_poison(true);
  for (const auto& [query, key] : {std::pair{Shape{0, 2, 3, 4}, Shape{0, 2, 5, 4}},
                                   {Shape{1, 2, 0, 4}, Shape{1, 2, 5, 4}},
                                   {Shape{1, 2, 3, 4}, Shape{1, 2, 0, 4}},
                                   {Shape{1, 2, 0, 4}, Shape{1, 2, 0, 4}}}) {
    for (const bool causal : {false, true}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        Call call;
        call.query = make(query, std::vector<float>(static_cast<std::size_t>(query.numel()), 1), dtype);
        call.key = call.value =
            make(key, std::vector<float>(static_cast<std::size_t>(key.numel()), 1), dtype);
        call.is_causal = causal;
        for (const Backend* backend : computing()) {
          const auto out = run(*backend, call);
          EXPECT_EQ(out.size(), static_cast<std::size_t>(query.numel())) << backend->name();
          EXPECT_THAT(out, Each(0.0F)) << backend->name() << " " << query.text() << " " << key.text();
        }
      }
    }
  }
}

TEST_F(Backends, CudnnSaysEverythingThatStandsInItsWay) {
  Problem problem = *parse_problem("1x2x16x300");
  problem.dtype = DType::f32;
  const auto reasons = find_backend("cudnn")->refusals(make_call(device_, problem, 1));
  EXPECT_EQ(reasons.size(), HUNCH_HAS_CUDNN ? 4U : 5U);
  EXPECT_THAT(reasons, Contains(HasSubstr("needs an NVIDIA GPU, and this device is a CPU")));
  if (!HUNCH_HAS_CUDNN) {
    EXPECT_THAT(reasons, Contains("this build has no cuDNN"));
  }
  EXPECT_THAT(reasons, Contains("head_dim 300 is over 256"));
  EXPECT_THAT(reasons, Contains("head_dim 300 is not a multiple of 8"));

  Call call = make_call(device_, *parse_problem("1x2x16x64"), 1);
  EXPECT_EQ(find_backend("cudnn")->refusals(call).size(), HUNCH_HAS_CUDNN ? 1U : 2U)
      << "only what the device and the build lack";
  call.is_causal = false;
  call.mask = make({16, 16}, std::vector<float>(256, 0));
  call.key = call.key.slice(3, 0, 64, 2);
  call.query = call.query.slice(3, 0, 32);
  call.value = call.value.slice(3, 0, 12);
  const auto more = find_backend("cudnn")->refusals(call);
  EXPECT_THAT(more, Contains("key's last stride is 2, not 1"));
  EXPECT_THAT(more, Contains("value's head_dim 12 is not a multiple of 8"));
  EXPECT_THAT(more, Contains(HasSubstr("the mask is f32 and the query is bf16")));
}

TEST_F(Backends, OnlyFlashHasWindowsAndSoftcap) {
  Call call = small();
  call.is_causal = true;
  call.window = 1;
  call.softcap = 2;
  for (const Backend* backend : backends()) {
    if (backend->name() == "flash") continue;
    EXPECT_THAT(backend->refusals(call), Contains("it has no sliding window, and this one has 1 keys"))
        << backend->name();
    EXPECT_THAT(backend->refusals(call), Contains("it caps no scores, and softcap is 2")) << backend->name();
  }
  EXPECT_THAT(run(*find_backend("flash"), call), ElementsAre(1, 0, 0, 0, 1, 0)) << "each its own key";
  call.is_causal = false;
  call.window.reset();
  const auto bent = [](float score) { return 2 * std::tanh(score / 2); };
  EXPECT_THAT(run(*find_backend("flash"), call),
              Pointwise(FloatNear(1e-5F), softmax({0, bent(1), bent(2)}) + softmax({0, bent(2), bent(4)})));
}

TEST_F(Backends, UnfusedOnesRefuseWhatDoesNotFit) {
  SmallDevice small;
  const auto call_of = [&](int64_t length) {
    Call call;
    call.query = Tensor::empty(small, DType::bf16, {1, 1, length, 1});
    call.key = call.value = call.query;
    return call;
  };
  const auto refusals = [&](const char* name, const Call& call) {
    return find_backend(name)->refusals(call);
  };
  Call call = call_of(int64_t{1} << 20);  // 2^40 pairs
  EXPECT_THAT(refusals("naive", call),
              ElementsAre("the score matrix takes 2.00 TiB and the device has 20.0 GiB free"));
  EXPECT_THAT(refusals("naive_inplace", call), ElementsAre(HasSubstr("2.00 TiB")));
  EXPECT_THAT(refusals("math", call),
              ElementsAre("the score matrix takes 4.00 TiB and the device has 20.0 GiB free"));
  EXPECT_THAT(refusals("flash", call), IsEmpty());
  EXPECT_THAT(refusals("efficient", call), IsEmpty());
  EXPECT_EQ(choose_backend(call).backend, find_backend("flash"));
  call.want_lse = true;
  EXPECT_EQ(refusals("math", call).size(), 2U) << "every reason, not the first";

  call = call_of(int64_t{1} << 16);  // 2^32 pairs: 8 GiB in bf16, 16 GiB in f32
  EXPECT_THAT(refusals("naive", call), IsEmpty());
  EXPECT_THAT(refusals("math", call),
              ElementsAre("the score matrix takes 16.0 GiB, its steps hold 52.0 GiB at once, "
                          "and the device has 20.0 GiB free"));
  small.available = int64_t{52} << 30;
  EXPECT_THAT(refusals("math", call), IsEmpty());
}

}  // namespace
}  // namespace hunch::attention
