// The dispatcher: order, pinning, and the error that lists every reason.
#include "hunch/attention/dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "hunch/tensor/cpu_device.h"

namespace hunch::attention {
namespace {

using tensor::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Dispatch : public ::testing::Test {
 protected:
  Call make(const char* sizes, DType dtype = DType::bf16) {
    Problem problem = *parse_problem(sizes);
    problem.dtype = dtype;
    return make_call(device_, problem, 1);
  }
  static std::string chosen(const Call& call) {
    const Choice choice = choose_backend(call);
    return choice.backend == nullptr ? "nothing" : std::string(choice.backend->name());
  }
  tensor::CpuDevice device_{2};
};

TEST_F(Dispatch, PrefersFusedThenMathAndNeverByHand) {
  const Call call = make("1x2x16x64");
  EXPECT_EQ(chosen(call), "flash");
  std::vector<std::string> names;
  for (const auto& opinion : choose_backend(call).opinions) {
    names.emplace_back(opinion.backend->name());
    EXPECT_TRUE(opinion.allowed);
  }
  EXPECT_THAT(names, ElementsAre("flash", "efficient", "math", "cudnn"));
}

TEST_F(Dispatch, FallsToTheNextThatTakesTheCall) {
  const Call call = make("1x1x4x5000", DType::f32);  // wider than any fused kernel goes
  EXPECT_EQ(chosen(call), "math");
  for (const auto& opinion : choose_backend(call).opinions) {
    if (opinion.backend->name() == "math") {
      EXPECT_THAT(opinion.refusals, IsEmpty());
    } else {
      EXPECT_THAT(opinion.refusals, Not(IsEmpty()));
    }
  }
  const auto output = scaled_dot_product_attention(call);
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->out.shape().text(), "1x1x4x5000");
}

TEST_F(Dispatch, PinsAreScopedAndTheInnermostHolds) {
  const Call call = make("1x2x16x64");
  {
    const PinBackends outer({"math", "efficient"});
    EXPECT_EQ(chosen(call), "efficient") << "the order of preference, not of the names";
    {
      const PinBackends inner({"math"});
      EXPECT_EQ(chosen(call), "math");
      for (const auto& opinion : choose_backend(call).opinions)
        EXPECT_EQ(opinion.allowed, opinion.backend->name() == "math");
    }
    {
      const PinBackends inner({"flash"});
      EXPECT_EQ(chosen(call), "flash") << "an inner guard replaces the outer one";
    }
    EXPECT_EQ(chosen(call), "efficient");
    std::thread([&] { EXPECT_EQ(chosen(call), "flash") << "another thread is not pinned"; }).join();
  }
  EXPECT_EQ(chosen(call), "flash");
}

TEST_F(Dispatch, SaysEveryReasonOfEveryBackendWhenNothingFits) {
  const Call call = make("1x2x16x300", DType::f32);
  const PinBackends pin({"cudnn"});
  EXPECT_EQ(chosen(call), "nothing");
  const auto output = scaled_dot_product_attention(call);
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().code, base::ErrorCode::unsupported);
  const std::string& text = output.error().message;
  EXPECT_THAT(text, HasSubstr("no backend takes this call"));
  EXPECT_THAT(text, HasSubstr("flash: not among the pinned backends"));
  EXPECT_THAT(text, HasSubstr("efficient: not among the pinned backends"));
  EXPECT_THAT(text, HasSubstr("math: not among the pinned backends"));
  EXPECT_THAT(text, HasSubstr("cudnn: it needs an NVIDIA GPU, and this device is a CPU"));
  EXPECT_EQ(text.find("this build has no cuDNN") == std::string::npos, HUNCH_HAS_CUDNN == 1);
  EXPECT_THAT(text, HasSubstr("it computes in bf16 and f16, and the inputs are f32"));
  EXPECT_THAT(text, HasSubstr("head_dim 300 is over 256"));
  EXPECT_THAT(text, HasSubstr("head_dim 300 is not a multiple of 8"));
  EXPECT_THAT(output.error().remedy, HasSubstr("which takes this call"));
}

TEST_F(Dispatch, ByHandAndUnknownNamesCannotBePinned) {
  const Call call = make("1x2x16x64");
  const auto error = [&](std::vector<std::string> names) {
    const PinBackends pin(std::move(names));
    const auto output = scaled_dot_product_attention(call);
    EXPECT_FALSE(output.has_value());
    return output ? base::Error{} : output.error();
  };
  EXPECT_EQ(error({"naive"}).message,
            "backend 'naive' is attention by hand, which the dispatcher never picks");
  EXPECT_EQ(error({"math", "flsh"}).message, "no backend is named 'flsh'");
  EXPECT_EQ(error({"flsh"}).remedy, "did you mean 'flash'?");
  EXPECT_EQ(error({"zzzzzzzz"}).remedy, "one of flash, efficient, math, cudnn");
  EXPECT_EQ(error({}).code, base::ErrorCode::usage);
}

TEST_F(Dispatch, InvalidCallsAreRefusedInWords) {
  Call call = make("1x2x16x64");
  call.is_causal = true;
  call.mask = tensor::Tensor::empty(device_, DType::boolean, {16, 16});
  const auto output = scaled_dot_product_attention(call);
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().code, base::ErrorCode::usage);
  const Choice choice = choose_backend(call);
  EXPECT_EQ(choice.backend, nullptr);
  for (const auto& opinion : choice.opinions)
    EXPECT_THAT(opinion.refusals, ElementsAre("is_causal and a mask are both given"));
}

}  // namespace
}  // namespace hunch::attention
