// Occupancy, gaps, waits, graphs, first calls, and the table of rules itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "rules_made.h"

namespace hunch::analysis::rules {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kCudnn =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0";

TEST(OccupancyMisreported, AZeroAboveTheDefaultSharedMemory) {
  Made made;
  made.gpu().range("fwd",
                   [&] { made.op("aten::a", [&] { made.kernel_of(kCudnn, 168, 134'144, 384, 1024, 0); }); });
  const auto found = findings_of(made, "occupancy_misreported");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].claim,
            "1 kernel per forward reported at 0 % occupancy wrongly: 18.75 % for cuDNN flash forward sm90 "
            "64x128x64");
  EXPECT_THAT(found[0].cause, HasSubstr("134,144 bytes of shared memory"));
  EXPECT_THAT(found[0].cause, HasSubstr("168 registers x 384 threads: 1 block a multiprocessor"));
  EXPECT_EQ(found[0].cost_ns, std::nullopt);
}

TEST(OccupancyMisreported, RealZerosAreToldApart) {
  Made both;
  both.gpu().range("fwd", [&] {
    both.op("aten::a", [&] { both.kernel_of(kCudnn, 168, 134'144, 384, 1024, 0); });
    both.op("aten::b", [&] { both.kernel_of(kernels::kFill, 16, 0, 128, 1, 0); });
  });
  const auto found = findings_of(both, "occupancy_misreported");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].cause, HasSubstr("1 other kernel per forward reports 0 % rightly"));

  Made real;
  real.gpu().range("fwd", [&] {
    real.op("aten::b", [&] { real.kernel_of(kernels::kFill, 16, 0, 128, 1, 0); });
    real.op("aten::c",
            [&] { real.kernel_of(kCudnn, 168, 134'144, 384, 1, 0); });  // one block on 132 multiprocessors
  });
  EXPECT_THAT(findings_of(real, "occupancy_misreported"), IsEmpty());
}

TEST(OccupancyMisreported, SilentWithoutDeviceOrFieldsAndOnCpus) {
  Made unknown;
  unknown.range(
      "fwd", [&] { unknown.op("aten::a", [&] { unknown.kernel_of(kCudnn, 168, 134'144, 384, 1024, 0); }); });
  EXPECT_THAT(findings_of(unknown, "occupancy_misreported"), IsEmpty());
  Made bare;
  bare.gpu().range("fwd", [&] { bare.op("aten::a", [&] { bare.kernel(kCudnn); }); });
  EXPECT_THAT(findings_of(bare, "occupancy_misreported"), IsEmpty());
  Made cpu;
  cpu.cpu().range("fwd",
                  [&] { cpu.op("aten::a", [&] { cpu.kernel_of(kCudnn, 168, 134'144, 384, 1024, 0); }); });
  EXPECT_THAT(findings_of(cpu, "occupancy_misreported"), IsEmpty());
}

TEST(OccupancyByDesign, ATileKernelWithItsLimit) {
  Made made;
  made.gpu().range("fwd", [&] {
    made.op("aten::a", [&] { made.kernel_of(kernels::kFlash, 255, 49'152, 128, 1024, 13); });
  });
  const auto found = findings_of(made, "occupancy_by_design");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim,
              HasSubstr("flash forward 128x128x64 bf16 runs at 12.5 % occupancy (13 % reported)"));
  EXPECT_THAT(found[0].cause, HasSubstr("2 blocks a multiprocessor, limited by registers"));
}

TEST(OccupancyByDesign, SilentOnSmallGridsWrongZerosOtherKernelsAndTrifles) {
  Made made;
  made.gpu().range("fwd", [&] {
    made.op("aten::a",
            [&] { made.kernel_of(kernels::kFlash, 255, 49'152, 128, 20, 1); });  // the grid is the reason
    made.op("aten::b", [&] { made.kernel_of(kCudnn, 168, 134'144, 384, 1024, 0); });  // a wrong 0
    made.op("aten::c",
            [&] { made.kernel_of(kernels::kSoftmax, 255, 0, 128, 100'000, 13); });  // no tile kernel
    made.op("aten::d", [&] { made.kernel_of(kernels::kProduct, 32, 0, 128, 100'000, 100); });     // not low
    made.op("aten::e", [&] { made.kernel_of(kernels::kSgemm, 255, 0, 128, 100'000, 13, 100); });  // 100 ns
  });
  EXPECT_THAT(findings_of(made, "occupancy_by_design"), IsEmpty());
}

TEST(LaunchBound, TheDeviceIsDoneBeforeTheNextLaunch) {
  Made made;
  made.range("fwd", [&] {
    for (int i = 0; i < 5; ++i) {
      made.op("aten::mul", [&] { made.kernel(kernels::kScale, 1'000); });
      made.host_works(40'000);
    }
  });
  const auto found = findings_of(made, "launch_bound");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim, HasSubstr("before 4 of 5 launches"));
  EXPECT_THAT(found[0].events, SizeIs(4));
  ASSERT_TRUE(found[0].cost_ns.has_value());
  EXPECT_GE(*found[0].cost_ns, 4 * 40'000);
}

TEST(LaunchBound, SilentOnABusyDeviceAndOnOneKernel) {
  Made busy;
  busy.range("fwd", [&] {
    for (int i = 0; i < 5; ++i) busy.op("aten::mul", [&] { busy.kernel(kernels::kScale, 100'000); });
  });
  EXPECT_THAT(findings_of(busy, "launch_bound"), IsEmpty());
  Made one;
  one.range("fwd", [&] {
    one.op("aten::mul", [&] { one.kernel(kernels::kScale, 1'000); });
    one.host_works(400'000);
  });
  EXPECT_THAT(findings_of(one, "launch_bound"), IsEmpty());
}

TEST(HostSync, ItemPageableCopyAndSynchronize) {
  Made made;
  made.range("fwd", [&] {
    made.op("aten::mul", [&] { made.kernel(kernels::kScale); });
    made.op("aten::item", [&] {
      made.op("aten::_local_scalar_dense", [&] {
        made.memcpy("Memcpy DtoH (Device -> Pinned)", 4);
        made.call("cudaStreamSynchronize", 30'000);
      });
    });
    made.op("aten::to", [&] {
      made.memcpy("Memcpy HtoD (Pageable -> Device)", 4);
      made.call("cudaStreamSynchronize", 20'000);
    });
    made.call("cudaDeviceSynchronize", 10'000);
    made.op("aten::mul", [&] { made.kernel(kernels::kScale); });
  });
  const auto found = findings_of(made, "host_sync");
  ASSERT_THAT(found, SizeIs(3));  // by cost
  EXPECT_THAT(found[0].claim, HasSubstr("1 wait for the device per forward, 30.0 us of host time"));
  EXPECT_THAT(found[0].advice, HasSubstr("`.item()`"));
  EXPECT_THAT(found[1].cause, HasSubstr("Pageable"));
  EXPECT_THAT(found[1].advice, HasSubstr("pinned memory"));
  EXPECT_THAT(found[2].cause, HasSubstr("the program calls `cudaDeviceSynchronize`"));
}

TEST(HostSync, SilentAfterTheLastLaunchOutsideAndOnAsyncCopies) {
  Made made;
  made.call("cudaDeviceSynchronize", 10'000);
  made.range("fwd", [&] {
    made.op("aten::to", [&] { made.memcpy("Memcpy HtoD (Pinned -> Device)", 4); });
    made.call("cudaDeviceSynchronize", 10'000);
  });
  made.call("cudaStreamSynchronize", 10'000);
  EXPECT_THAT(findings_of(made, "host_sync"), IsEmpty());
}

TEST(GraphLaunch, ManyKernelsOfOneCall) {
  Made made;
  made.range("fwd", [&] {
    made.api("cudaGraphLaunch");
    made.kernel(kernels::kScale);
    made.kernel(kernels::kSoftmax);
    made.api("");
    made.op("aten::mul", [&] { made.kernel(kernels::kScale); });
  });
  const auto found = findings_of(made, "graph_launch");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].claim, HasSubstr("2 device events per forward come from 2 graph launches"));
  Made none;
  none.range("fwd", [&] { none.op("aten::mul", [&] { none.kernel(kernels::kScale); }); });
  EXPECT_THAT(findings_of(none, "graph_launch"), IsEmpty());
}

TEST(FirstCall, ALoadInOneRunOfSeveral) {
  const auto trace = [](int loads_in_first, int loads_in_all, int runs) {
    Made made;
    for (int run = 0; run < runs; ++run) {
      made.range("fwd", [&] {
        for (int i = 0; i < loads_in_all + (run == 0 ? loads_in_first : 0); ++i)
          made.call("cuModuleLoadData", 500'000);
        made.call("cudaMallocAsync", 1'000);
        made.op("aten::mul", [&] { made.kernel(kernels::kScale); });
      });
    }
    return findings_of(made, "first_call");
  };
  ASSERT_THAT(trace(2, 0, 3), SizeIs(1));
  EXPECT_THAT(trace(2, 0, 3)[0].claim, HasSubstr("run 1 of 3 makes 2 one-time calls, 1.00 ms"));
  EXPECT_EQ(trace(2, 0, 3)[0].cost_ns, 0);  // the median run pays nothing
  EXPECT_THAT(trace(0, 1, 3), IsEmpty());   // every run: no first call
  EXPECT_THAT(trace(2, 0, 1), IsEmpty());   // nothing to compare with
  EXPECT_THAT(trace(0, 0, 3), IsEmpty());
}

TEST(HostMoved, AnOpaqueAttentionOp) {
  const auto trace = [](Ns itself) {
    Made made;
    made.range("fwd", [&] {
      made.op("aten::_scaled_dot_product_cudnn_attention", [&] {
        made.op("aten::_cudnn_attention_forward", [&] {
          made.host_works(itself);
          made.kernel(kCudnn);
        });
      });
    });
    return findings_of(made, "host_moved");
  };
  ASSERT_THAT(trace(900'000), SizeIs(1));
  EXPECT_THAT(trace(900'000)[0].claim,
              HasSubstr("`aten::_cudnn_attention_forward` spends 904 us of host time per forward in itself"));
  EXPECT_THAT(trace(20'000), IsEmpty());
}

TEST(Rules, EachHasItsPageAndAUniqueId) {
  std::set<std::string_view> ids;
  for (const Rule* rule : rules()) {
    EXPECT_TRUE(ids.insert(rule->id()).second) << rule->id();
    EXPECT_FALSE(rule->summary().empty()) << rule->id();
    const std::filesystem::path root = HUNCH_SOURCE;
    EXPECT_TRUE(std::filesystem::exists(root / "hunch/analysis/rules" / (std::string(rule->id()) + ".cc")))
        << rule->id();
    std::ifstream page(root / "docs/rules" / (std::string(rule->id()) + ".md"));
    std::stringstream text;
    text << page.rdbuf();
    for (const char* heading :
         {"## What it claims", "## Why it happens", "## How to act", "## When it stays silent"}) {
      EXPECT_THAT(text.str(), HasSubstr(heading)) << rule->id();
    }
  }
  EXPECT_EQ(ids.size(), 18u);
}

TEST(Rules, AnEmptyTraceHasNothingToSay) {
  const trace::Trace empty = trace::TraceBuilder().finish();
  EXPECT_THAT(find_all(analyze(empty)), IsEmpty());
}

}  // namespace
}  // namespace hunch::analysis::rules
