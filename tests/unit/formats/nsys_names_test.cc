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

}  // namespace
}  // namespace hunch::formats::nsys_sqlite
