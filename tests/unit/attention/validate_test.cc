// Calls that no backend can take: each is told which field is wrong, and what it should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hunch/attention/problem.h"
#include "hunch/tensor/cpu_device.h"

namespace hunch::attention {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using ::testing::HasSubstr;

class Validate : public ::testing::Test {
 protected:
  Tensor make(const Shape& shape, DType dtype = DType::bf16) { return Tensor::empty(device_, dtype, shape); }

  // "" where the call is accepted.
  static std::string words(const Call& call) {
    const auto status = validate(call);
    if (status) return "";
    EXPECT_EQ(status.error().code, base::ErrorCode::usage);
    EXPECT_NE(status.error().remedy, "") << status.error().message;
    return status.error().message;
  }
  template <class Change>
  std::string after(Change change) {
    Call call = call_;
    change(call);
    return words(call);
  }

  tensor::CpuDevice device_{1};
  tensor::CpuDevice other_{1};
  Call call_{make({2, 6, 5, 8}), make({2, 6, 7, 8}), make({2, 6, 7, 8}), {}, false, {}, {}, {}, false, false};
};

TEST_F(Validate, AcceptsWhatItShould) {
  EXPECT_EQ(words(call_), "");
  EXPECT_EQ(after([&](Call& c) {
              c.value = make({2, 6, 7, 3});
            }),
            "")
      << "value may have a head_dim of its own";
  EXPECT_EQ(after([&](Call& c) { c.query = make({2, 6, 0, 8}); }), "") << "no queries";
  EXPECT_EQ(after([&](Call& c) { c.key = c.value = make({2, 6, 0, 8}); }), "") << "no keys";
  EXPECT_EQ(after([](Call& c) { c.scale = -0.5; }), "");
  EXPECT_EQ(after([](Call& c) { c.scale = 0; }), "");
  EXPECT_EQ(after([](Call& c) { c.softcap = 30; }), "");
  EXPECT_EQ(after([](Call& c) {
              c.is_causal = true;
              c.window = 1;
            }),
            "");
  EXPECT_EQ(after([&](Call& c) {
              c.key = c.value = make({2, 2, 7, 8});
              c.enable_gqa = true;
            }),
            "");
}

TEST_F(Validate, MasksBroadcastInAnyDimension) {
  for (const Shape& shape : {Shape{2, 6, 5, 7}, Shape{5, 7}, Shape{7}, Shape{2, 1, 5, 7}, Shape{2, 1, 1, 7},
                             Shape{1, 6, 5, 1}, Shape{1, 1}, Shape{6, 5, 7}, Shape{}})
    EXPECT_EQ(after([&](Call& c) { c.mask = make(shape, DType::boolean); }), "") << shape.text();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    EXPECT_EQ(after([&](Call& c) { c.mask = make({5, 7}, dtype); }), "");
  for (const Shape& shape :
       {Shape{7, 5}, Shape{5, 6}, Shape{3, 1, 5, 7}, Shape{2, 3, 5, 7}, Shape{1, 2, 6, 5, 7}})
    EXPECT_THAT(after([&](Call& c) { c.mask = make(shape); }),
                HasSubstr("does not broadcast to the scores 2x6x5x7"));
}

TEST_F(Validate, NamesTheField) {
  EXPECT_EQ(words(Call{}), "query is not set");
  EXPECT_EQ(after([](Call& c) { c.value = Tensor(); }), "value is not set");
  EXPECT_EQ(after([](Call& c) { c.mask = Tensor(); }), "mask is not set");
  EXPECT_EQ(after([&](Call& c) { c.key = make({6, 7, 8}); }), "key has 3 dimensions (6x7x8), not 4");
  EXPECT_EQ(after([&](Call& c) { c.query = make({2, 6, 5, 8}, DType::boolean); }), "query is bool");
  EXPECT_EQ(after([&](Call& c) { c.key = make({2, 6, 7, 8}, DType::f16); }), "key is f16 and query is bf16");
  EXPECT_EQ(after([&](Call& c) { c.key = make({3, 6, 7, 8}); }), "key has batch 3 and query has batch 2");
  EXPECT_EQ(after([&](Call& c) {
              c.key = make({2, 6, 7, 9});
            }),
            "key has head_dim 9 and query has head_dim 8");
  EXPECT_EQ(after([&](Call& c) { c.value = make({2, 6, 8, 8}); }), "value is 2x6x8x8 and key is 2x6x7x8");
  EXPECT_EQ(after([&](Call& c) { c.value = make({2, 3, 7, 8}); }), "value is 2x3x7x8 and key is 2x6x7x8");
  EXPECT_EQ(after([&](Call& c) { c.value = make({2, 6, 7, 0}); }), "head_dim is 8 in query and 0 in value");
  EXPECT_EQ(after([](Call& c) { c.scale = std::nan(""); }), "scale nan is not finite");
  EXPECT_EQ(after([](Call& c) { c.window = 4; }), "a window without is_causal");
  EXPECT_EQ(after([](Call& c) {
              c.is_causal = true;
              c.window = 0;
            }),
            "a window of 0 keys");
  EXPECT_EQ(after([](Call& c) { c.softcap = 0; }), "softcap 0");
  EXPECT_EQ(after([](Call& c) { c.softcap = std::nan(""); }), "softcap nan");
  EXPECT_THAT(after([&](Call& c) {
                c.value = Tensor::empty(other_, DType::bf16, {2, 6, 7, 8});
              }),
              HasSubstr("another device"));
}

TEST_F(Validate, GroupedHeadsMustBeAskedForAndDivide) {
  const auto with_heads = [&](int64_t kv_heads, bool gqa) {
    return after([&](Call& c) {
      c.key = c.value = make({2, kv_heads, 7, 8});
      c.enable_gqa = gqa;
    });
  };
  EXPECT_EQ(with_heads(2, false), "query has 6 heads and key has 2");
  EXPECT_EQ(with_heads(4, true), "6 query heads cannot share 4 key and value heads evenly");
  EXPECT_EQ(with_heads(12, true), "6 query heads cannot share 12 key and value heads evenly");
  EXPECT_EQ(with_heads(0, true), "query has 6 heads and key has 0");
  EXPECT_EQ(with_heads(1, true), "");
}

TEST_F(Validate, CausalExcludesAMask) {
  EXPECT_EQ(after([&](Call& c) {
              c.is_causal = true;
              c.mask = make({5, 7}, DType::boolean);
            }),
            "is_causal and a mask are both given");
}

}  // namespace
}  // namespace hunch::attention
