// What texts of NVTX ranges say.
#include "hunch/trace/nvtx_text.h"

#include <gtest/gtest.h>

namespace hunch::trace {
namespace {

TEST(NvtxText, OpsOfEmitNvtx) {
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

TEST(NvtxText, WhatIsNoOpIsARange) {
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

TEST(NvtxText, DomainsOfLibraries) {
  EXPECT_TRUE(is_library_domain("NCCL"));
  EXPECT_TRUE(is_library_domain("cuDNN"));
  EXPECT_FALSE(is_library_domain("my.training"));
  EXPECT_FALSE(is_library_domain(""));
}

}  // namespace
}  // namespace hunch::trace
