// Which flash kernel of ours computes a call, over architectures and builds that need not be here.
#include "hunch/attention/flash/flash_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hunch/attention/backend.h"
#include "hunch/attention/flash/few_shape.h"
#include "hunch/base/strings.h"
#include "hunch/tensor/absent_gpu.h"
#include "hunch/tensor/tensor.h"

namespace hunch::attention::flash {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Build kFull = {true, true, 90};

constexpr Shape kFewShapes[] = {Shape::few64,        Shape::few64_three,  Shape::few64_four,  Shape::few128,
                                Shape::few128_two,   Shape::few128_three, Shape::few128_four, Shape::few256,
                                Shape::few256_three, Shape::few256_four};

DeviceFacts device(int compute, int multiprocessors = 132, Build build = kFull) {
  DeviceFacts facts;
  facts.compute = compute;
  facts.multiprocessors = multiprocessors;
  facts.shared_bytes = shared_bytes_of(compute);
  facts.build = build;
  return facts;
}

sm80::AttentionParams call(int heads, int kv_heads, int length, int kv_length, int dim, bool causal = true) {
  sm80::AttentionParams p = {};
  p.batch = 2;
  p.heads = heads;
  p.kv_heads = kv_heads;
  p.length = length;
  p.kv_length = kv_length;
  p.head_dim = p.value_dim = dim;
  p.scale = 0.125f;
  p.causal = causal ? 1 : 0;
  p.aligned = 1;
  p.splits = 1;
  return p;
}

std::string words(const sm80::AttentionParams& p, const DeviceFacts& facts) {
  return base::join(because(choose_kernel(p, facts), p, facts), "\n");
}

TEST(FlashKernel, TheFamilyFollowsTheArchitecture) {
  const auto p = call(16, 16, 1024, 1024, 64);
  for (const int compute : {80, 86, 89, 100, 120}) {
    const Kernel kernel = choose_kernel(p, device(compute));
    EXPECT_EQ(kernel.family(), Family::sm80) << compute;
    EXPECT_EQ(kernel.obstacles, kNotHopper) << compute;
    EXPECT_THAT(words(p, device(compute)), HasSubstr("and this is sm_" + std::to_string(compute)));
  }
  const Kernel kernel = choose_kernel(p, device(90));
  EXPECT_EQ(kernel.family(), Family::sm90);
  EXPECT_EQ(kernel.obstacles, 0u);
  EXPECT_THAT(words(p, device(90)), HasSubstr("wgmma"));
}

TEST(FlashKernel, OnlyNewerArchitecturesThanTheBuildsCompilePtx) {
  const auto p = call(16, 16, 1024, 1024, 64);
  for (const int compute : {100, 120}) EXPECT_THAT(words(p, device(compute)), HasSubstr("PTX")) << compute;
  for (const int compute : {80, 86, 89, 90})
    EXPECT_THAT(words(p, device(compute)), Not(HasSubstr("PTX"))) << compute;
}

TEST(FlashKernel, ABuildWithoutSm90aTakesTheSm80Kernel) {
  const auto p = call(16, 16, 1024, 1024, 64);
  const DeviceFacts facts = device(90, 132, {true, false, 89});
  EXPECT_EQ(choose_kernel(p, facts).family(), Family::sm80);
  EXPECT_EQ(choose_kernel(p, facts).obstacles, kNotBuilt);
  EXPECT_THAT(words(p, facts), HasSubstr("no code for sm_90a"));
}

TEST(FlashKernel, ABuildWithoutCudaSaysSo) {
  const auto p = call(16, 16, 1024, 1024, 64);
  const DeviceFacts facts = device(90, 132, {false, true, 90});
  EXPECT_EQ(choose_kernel(p, facts).family(), Family::sm90);
  EXPECT_THAT(words(p, facts), HasSubstr("this build has no CUDA"));
  EXPECT_THAT(words(p, device(90)), Not(HasSubstr("this build has no CUDA")));
}

TEST(FlashKernel, WithoutTensorMapsTheSm80Kernel) {
  DeviceFacts facts = device(90);
  facts.tensor_maps = false;
  EXPECT_EQ(choose_kernel(call(16, 16, 1024, 1024, 64), facts).obstacles, kNoTensorMaps);
}

TEST(FlashKernel, EveryObstacleOfHopperIsTold) {
  const DeviceFacts facts = device(90);
  const auto obstacles = [&](const sm80::AttentionParams& p) {
    const Kernel kernel = choose_kernel(p, facts);
    EXPECT_EQ(kernel.family(), Family::sm80);
    EXPECT_THAT(words(p, facts), HasSubstr("not the Hopper kernel: "));
    return kernel.obstacles;
  };
  const int dummy = 0;
  auto p = call(16, 16, 1024, 1024, 64);
  p.mask = &dummy;
  EXPECT_EQ(obstacles(p), kMask);
  p.softcap = 30.0f;
  EXPECT_EQ(obstacles(p), kMask | kSoftcap);
  EXPECT_THAT(words(p, facts), HasSubstr("its general form, which scales and masks every score: "
                                         "a mask tensor, capped scores"));
  p = call(16, 16, 1024, 1024, 64);
  p.scale = 0.0f;
  EXPECT_EQ(obstacles(p), kScale);
  p = call(16, 16, 1024, 1024, 65);
  p.aligned = 0;
  EXPECT_EQ(obstacles(p), kNotAligned);
  EXPECT_EQ(obstacles(call(16, 16, 63, 1024, 64)), kFewQueries);
  EXPECT_EQ(obstacles(call(16, 16, 1024, 0, 64)), kNoKeys);
  p = call(16, 16, 1 << 30, 1, 64);
  p.batch = 1 << 10;
  EXPECT_EQ(obstacles(p), kManyRows);
}

TEST(FlashKernel, AWindowStaysOnHopperAndIsGeneralBelow) {
  auto p = call(16, 16, 1024, 1024, 64);
  p.window = 128;
  EXPECT_EQ(choose_kernel(p, device(90)).family(), Family::sm90);
  const Kernel older = choose_kernel(p, device(80));
  EXPECT_TRUE(older.general);
  EXPECT_EQ(older.shape, Shape::low64);
}

TEST(FlashKernel, ShapesFollowHeadDimLengthAndSharedMemory) {
  const auto shape = [](const sm80::AttentionParams& p, int compute) {
    return choose_kernel(p, device(compute)).shape;
  };
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 64), 80), Shape::small);
  EXPECT_EQ(shape(call(16, 16, 1025, 1025, 64), 80), Shape::narrow);
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 64, false), 80), Shape::narrow);
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 72), 80), Shape::middle);
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 256), 80), Shape::wide);
  for (const int compute : {86, 89, 120})  // 99 KiB
    EXPECT_EQ(shape(call(16, 16, 1024, 1024, 256), compute), Shape::low256) << compute;
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 256), 100), Shape::wide);
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 64), 90), Shape::hopper64);
  EXPECT_EQ(shape(call(16, 16, 1024, 4096, 128), 90), Shape::hopper128);
  EXPECT_EQ(shape(call(16, 16, 1024, 4097, 128), 90), Shape::hopper128_long);
  EXPECT_EQ(shape(call(16, 16, 1024, 1024, 136), 90), Shape::hopper256);
  auto p = call(16, 16, 1024, 1024, 64);
  p.value_dim = 256;  // the wider of the two
  EXPECT_EQ(shape(p, 90), Shape::hopper256);
}

TEST(FlashKernel, FewRowsHaveAKernelOfTheirOwn) {
  const auto p = call(32, 8, 1, 4096, 128, false);  // decoding: 16 tiles of 4 rows for 132 multiprocessors
  const Kernel kernel = choose_kernel(p, device(90));
  EXPECT_EQ(kernel.family(), Family::sm80);
  EXPECT_EQ(kernel.obstacles, kFewQueries);
  EXPECT_TRUE(kernel.packed);
  EXPECT_TRUE(kernel.few);
  EXPECT_EQ(kernel.shape, Shape::few128);
  EXPECT_EQ(kernel.parts, (Parts{4, 4}));
  EXPECT_EQ(kernel_name(kernel, sm80::ElementType::f16),
            "hunch::attention::sm80::flash_few_rows_kernel<f16>");
  EXPECT_EQ(kernel_name(kernel, sm80::ElementType::bf16),
            "hunch::attention::sm80::flash_few_rows_kernel<bf16>");
  EXPECT_THAT(words(p, device(90)),
              HasSubstr("the sm_80 kernel for few rows (mma.sync): tiles of 16 queries x 128 keys"));
  EXPECT_THAT(words(p, device(90)), HasSubstr("for 132 multiprocessors"));
  EXPECT_THAT(words(p, device(90)), HasSubstr("the 4 query heads of a key head share its tiles"));
  // By head_dim; three and four blocks a multiprocessor where there are more blocks than these.
  const auto shape = [](int batch, int dim) {
    auto many = call(32, 8, 1, 4096, dim, false);
    many.batch = batch;
    return choose_kernel(many, device(90)).shape;
  };
  EXPECT_EQ(shape(2, 64), Shape::few64);
  EXPECT_EQ(shape(2, 136), Shape::few256);
  EXPECT_EQ(shape(20, 64), Shape::few64_three);
  EXPECT_EQ(shape(60, 65), Shape::few128_four);
  EXPECT_EQ(shape(40, 256), Shape::few256_three);
  EXPECT_THAT(words(call(32, 8, 1, 4096, 128, false), device(90)), Not(HasSubstr("to a multiprocessor")));
  auto more = call(32, 8, 1, 4096, 128, false);
  more.batch = 20;
  EXPECT_THAT(words(more, device(90)),
              HasSubstr("3 blocks to a multiprocessor: there are 160 for 132 multiprocessors"));
  EXPECT_THAT(words(more, device(90, 0)), Not(HasSubstr("to a multiprocessor")));
  // A mask takes its general form, and so does a window.
  const int dummy = 0;
  auto masked = p;
  masked.mask = &dummy;
  EXPECT_TRUE(choose_kernel(masked, device(90)).general);
  EXPECT_EQ(choose_kernel(masked, device(90)).shape, Shape::few128);
  // Without the shared memory, as before.
  EXPECT_EQ(choose_kernel(p, device(80)).shape, Shape::few128);
  for (const int compute : {86, 89, 120}) {
    EXPECT_FALSE(choose_kernel(p, device(compute)).few) << compute;
    EXPECT_EQ(choose_kernel(p, device(compute)).shape, Shape::deep128) << compute;
  }
  auto full = p;
  full.batch = 1024;
  EXPECT_EQ(choose_kernel(full, device(90)).parts.count, 1);
  EXPECT_TRUE(choose_kernel(full, device(90)).packed);
  // Causal keys are not split, and what is not known splits nothing.
  EXPECT_EQ(choose_kernel(call(32, 8, 1, 4096, 128, true), device(90)).parts.count, 1);
  EXPECT_EQ(choose_kernel(p, device(90, 0)).parts.count, 1);
  EXPECT_THAT(words(p, device(90, 0)), HasSubstr("which is not told"));
}

TEST(FlashKernel, MoreRowsAreFewWhileReadingIsShort) {
  const auto few = [](const sm80::AttentionParams& p) { return choose_kernel(p, device(90)).few; };
  EXPECT_TRUE(few(call(16, 1, 1, 4096, 128, false)));
  EXPECT_TRUE(few(call(17, 1, 1, 4096, 128, false)));
  EXPECT_TRUE(few(call(64, 1, 1, 4096, 128, false)));
  EXPECT_FALSE(few(call(65, 1, 1, 4096, 128, false)));
  EXPECT_TRUE(few(call(32, 32, 32, 1 << 20, 128, false)));  // two tiles
  EXPECT_TRUE(few(call(32, 32, 33, 2048, 128, false)));     // three: 64 groups x 2048 keys x 512 bytes
  EXPECT_FALSE(few(call(32, 32, 33, 4096, 128, false)));
  // Sixteen rows are few whatever else; more want keys that are worth it, and all of them.
  EXPECT_TRUE(few(call(32, 32, 16, 16, 128, true)));
  EXPECT_FALSE(few(call(32, 32, 17, 4096, 128, true)));
  EXPECT_TRUE(few(call(32, 32, 16, 255, 128, false)));
  EXPECT_FALSE(few(call(32, 32, 17, 255, 128, false)));
  const auto p = call(48, 1, 1, 4096, 128, false);
  EXPECT_THAT(words(p, device(90)),
              HasSubstr("48 rows share their keys, in 3 tiles that read them side by side"));
}

TEST(FlashKernel, RowsOfAGroupArePackedToHalfATile) {
  const auto p = call(72, 1, 1, 4096, 128, false);
  const Kernel kernel = choose_kernel(p, device(90));
  EXPECT_TRUE(kernel.packed);
  EXPECT_FALSE(kernel.few);
  EXPECT_EQ(kernel.shape, Shape::deep128);
  EXPECT_GT(kernel.parts.count, 1);
  EXPECT_THAT(words(p, device(90)), HasSubstr("the sm_80 kernel (mma.sync): tiles of 64 queries x 64 keys"));
}

TEST(FlashKernel, GivenPartsAreTaken) {
  const auto p = call(32, 8, 1, 4096, 128, false);
  const auto told = [&p](Parts which) {
    const Kernel kernel = choose_sm80_kernel(p, device(90), which);
    EXPECT_EQ(kernel.parts, which);
    return base::join(because(kernel, p, device(90)), "\n");
  };
  EXPECT_THAT(told({3, 3}),
              HasSubstr("the keys in 3 parts, for 132 multiprocessors; they are a cluster of blocks, "
                        "which put them together"));
  EXPECT_THAT(told({4, 1}), HasSubstr("the last block of a tile puts them together"));
  EXPECT_THAT(told({12, 4}),
              HasSubstr("they are 3 clusters of 4 blocks, which put theirs together, and the last "
                        "cluster of a tile all of them"));
  EXPECT_EQ(choose_sm80_kernel(p, device(90), Parts{9, 1}).shape, Shape::few128_three);  // 144 blocks
}

TEST(FlashKernel, ClustersAreHoppersAlone) {
  EXPECT_EQ(clusters_of(device(90)), kHopperClusters);
  EXPECT_EQ(clusters_of(device(90, 132, {true, false, 80})), Clusters{});
  for (const int compute : {80, 86, 89, 120}) EXPECT_EQ(clusters_of(device(compute)), Clusters{}) << compute;
  // What the device has room for.
  const auto p = call(8, 1, 1, 32768, 128, false);
  for (const Clusters& room : {Clusters{}, Clusters{{66, 0, 0, 0}}, Clusters{{66, 30, 1, 0}}}) {
    DeviceFacts facts = device(90);
    facts.clusters = room;
    EXPECT_LE(choose_kernel(p, facts).parts.cluster, room.largest());
  }
}

TEST(FlashKernel, PackedShapesHaveThePackedRows) {
  for (const Shape shape : {Shape::low64, Shape::low128, Shape::low256, Shape::deep64, Shape::deep128})
    EXPECT_EQ(tile_of(shape).rows, kPackedRows);
  for (const Shape shape : kFewShapes) EXPECT_EQ(tile_of(shape).rows, kFewRows);
}

TEST(FlashKernel, SharedMemoryFits) {
  for (const Shape shape : {Shape::small, Shape::narrow, Shape::middle, Shape::low64, Shape::low128,
                            Shape::low256, Shape::deep64, Shape::deep128})
    EXPECT_LE(tile_of(shape).shared_bytes(), shared_bytes_of(86));  // the least of those that run them
  EXPECT_LE(tile_of(Shape::wide).shared_bytes(), shared_bytes_of(80));
  EXPECT_GT(tile_of(Shape::wide).shared_bytes(), shared_bytes_of(86));
  // So many beside each other, each with 1 KiB of the system's, where a multiprocessor has 228 KiB; and no
  // more each than the one that stands alone, which is asked for.
  for (const Shape shape : kFewShapes) {
    const Tile tile = tile_of(shape);
    EXPECT_LE(tile.blocks_per_sm * (tile.shared_bytes() + 1024), 228 << 10);
    EXPECT_LE(tile.shared_bytes(), tile_of(few_shape_alone(tile.dim)).shared_bytes());
    EXPECT_LE(tile.shared_bytes(), shared_bytes_of(80));
  }
}

// The backend tells the same of a GPU that is not here.
TEST(FlashKernel, TheBackendNamesIt) {
  using tensor::Tensor;
  alignas(64) static std::byte nowhere[64];
  const auto ask = [&](int compute, tensor::DType dtype, int64_t length) {
    tensor::AbsentGpu gpu(compute);
    const tensor::Shape shape = {8, 16, length, 64};
    Call call;
    call.query = call.key = call.value = Tensor::borrow(gpu, dtype, shape, tensor::contiguous_strides(shape),
                                                        nowhere, std::make_shared<int>());
    call.is_causal = true;
    return find_backend("flash")->kernel(call);
  };
  const auto a100 = ask(80, tensor::DType::f16, 1024);
  ASSERT_TRUE(a100.has_value());
  EXPECT_EQ(a100->kernel, "hunch::attention::sm80::flash_forward_kernel<f16>");
  EXPECT_THAT(a100->because, Contains(HasSubstr("64 queries x 64 keys")));
  const auto h100 = ask(90, tensor::DType::bf16, 1024);
  ASSERT_TRUE(h100.has_value());
  EXPECT_EQ(h100->kernel, this_build().sm90a ? "hunch::attention::sm90::flash_forward_kernel<bf16>"
                                             : "hunch::attention::sm80::flash_forward_kernel<bf16>");
  EXPECT_FALSE(ask(90, tensor::DType::bf16, 0).has_value());  // no rows: nothing runs
}

}  // namespace
}  // namespace hunch::attention::flash
