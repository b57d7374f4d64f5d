// The words of Nsight Systems in those of PyTorch's profiler.
#include "hunch/formats/nsys_sqlite/names.h"

#include <gtest/gtest.h>

namespace hunch::formats::nsys_sqlite {
namespace {

using trace::EventKind;

TEST(NsysNames, CallsLoseTheVersionOfTheTracer) {
  EXPECT_EQ(api_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(api_name("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(api_name("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(api_name("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(api_name("cuMemAlloc_v2"), "cuMemAlloc_v2");  // part of the driver's own name
  EXPECT_EQ(api_name("cudaGetDeviceProperties_v2_v12000"), "cudaGetDeviceProperties_v2");
  EXPECT_EQ(api_name("_v7000"), "_v7000");
  EXPECT_EQ(api_name("cuda_value"), "cuda_value");
  EXPECT_EQ(api_name(""), "");
}

TEST(NsysNames, RuntimeOrDriver) {
  EXPECT_EQ(api_kind("cudaLaunchKernel", 0), EventKind::runtime_call);
  EXPECT_EQ(api_kind("cuLaunchKernelEx", std::nullopt), EventKind::driver_call);
  EXPECT_EQ(api_kind("somethingNew", 1), EventKind::driver_call);
  EXPECT_EQ(api_kind("somethingNew", std::nullopt), EventKind::runtime_call);
}

TEST(NsysNames, CopiesAndMemsets) {
  EXPECT_EQ(copy_name(1, 1, 2), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copy_name(8, 2, 2), "Memcpy DtoD (Device -> Device)");
  EXPECT_EQ(copy_name(2, 2, 0), "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(copy_name(2, std::nullopt, 0), "Memcpy DtoH");
  EXPECT_EQ(copy_name(11, 4, 2), "Memcpy HtoD (Unified memory)");
  EXPECT_EQ(copy_name(99, 1, 2), "Memcpy (Pinned -> Device)");
  EXPECT_EQ(copy_name(-1, -1, 1000), "Memcpy");
  EXPECT_EQ(memset_name(2), "Memset (Device)");
  EXPECT_EQ(memset_name(std::nullopt), "Memset");
  EXPECT_EQ(sync_name(3), "Stream Sync");
  EXPECT_EQ(sync_name(77), "Sync");
}

TEST(NsysNames, OpsOfEmitNvtx) {
  const auto full = range_text(
      "aten::mm, seq = 12, op_id = 3, sizes = [[2, 3], [3, 4], []], input_op_ids = [(1,0), (2,1)]");
  EXPECT_EQ(full.kind, EventKind::op);
  EXPECT_EQ(full.name, "aten::mm");
  EXPECT_EQ(full.sequence, 12);
  EXPECT_EQ(full.op_id, 3u);
  EXPECT_EQ(full.sizes, "[[2,3],[3,4],[]]");
  const auto view = range_text("aten::view, op_id = 314290");
  EXPECT_EQ(view.kind, EventKind::op);
  EXPECT_EQ(view.name, "aten::view");
  EXPECT_EQ(view.sequence, -1);
  EXPECT_EQ(view.op_id, 314290u);
  EXPECT_EQ(range_text("MmBackward0, seq = 12").kind, EventKind::op);
  EXPECT_EQ(range_text("MmBackward0, seq = 12").name, "MmBackward0");
  EXPECT_EQ(range_text("autograd::engine::evaluate_function: MmBackward0, op_id = 5").name,
            "autograd::engine::evaluate_function: MmBackward0");
  EXPECT_EQ(range_text("aten::add").kind, EventKind::op);  // no sequence number, no shapes
  EXPECT_EQ(range_text("detach_, op_id = 5").kind, EventKind::op);
  EXPECT_EQ(range_text("detach").kind, EventKind::annotation);
  EXPECT_EQ(range_text("mylib::attend, op_id = 9, sizes = [[1]]").kind, EventKind::op);
  EXPECT_EQ(range_text("aten::cat, sizes = [[[1, 2], [3]], []]").sizes, "[[[1,2],[3]],[]]");
}

TEST(NsysNames, WhatIsNoOpIsARange) {
  EXPECT_EQ(range_text("forward").kind, EventKind::annotation);
  EXPECT_EQ(range_text("forward, op_id = 77").kind,
            EventKind::annotation);  // record_function under emit_nvtx
  EXPECT_EQ(range_text("forward, op_id = 77").name, "forward");
  EXPECT_EQ(range_text("mylib::step").kind, EventKind::annotation);
  EXPECT_EQ(range_text("layer 3, block 4").name, "layer 3, block 4");
  EXPECT_EQ(range_text("ProfilerStep#3").kind, EventKind::step);
  for (const char* odd :
       {"x, seq = ", "x, seq = 12 more", "x, seq = -1", "x, sizes = [[1, 2]", "x, sizes = 5",
        "x, sizes = [1]]", "x, op_id = 99999999999999999999999", ", ", "", "x, seq = 9, op_id = "}) {
    EXPECT_EQ(range_text(odd).kind, EventKind::annotation) << odd;
    EXPECT_EQ(range_text(odd).name, odd);
    EXPECT_EQ(range_text(odd).sequence, -1) << odd;
  }
}

TEST(NsysNames, DomainsOfLibraries) {
  EXPECT_TRUE(is_library_domain("NCCL"));
  EXPECT_TRUE(is_library_domain("cuDNN"));
  EXPECT_FALSE(is_library_domain("my.training"));
  EXPECT_FALSE(is_library_domain(""));
}

}  // namespace
}  // namespace hunch::formats::nsys_sqlite
